"""A thousand jobs at once: every one ends with the outcome it should have."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import unhang
from tests.support.jobs import Jobs, check_log
from unhang.procs import identity

_MANY = 1000
_KINDS = ("success", "failure", "idle", "hard", "cancelled")
_ENDS = {
    "success": ("success", None),
    "failure": ("error", None),
    "idle": ("timeout", "no_output_timeout"),
    "hard": ("timeout", "exec_timeout"),
    "cancelled": ("cancelled", None),
}


def _start(number: int, gate: Path) -> unhang.Job:
    """`success` and `failure` wait for the gate; the limits of the others are long enough for all to be there."""
    kind = _KINDS[number % len(_KINDS)]
    limits: dict[str, Any] = {"idle": "off", "hard": 300, "stall": "off", "liveness": "output"}
    if kind in ("success", "failure"):
        line = f"read go < '{gate}'; exit {0 if kind == 'success' else number % 90 + 1}"
    else:
        line = "exec sleep 1000"
        limits |= {kind: 8} if kind in ("idle", "hard") else {}
    return unhang.start(line, shell=True, labels={"kind": kind}, **limits)


@pytest.mark.slow
@pytest.mark.timeout(300)  # a hang is what it is for; a thousand starts take as long as the machine lets them
def test_a_thousand_jobs_at_once_end_with_the_right_outcome_each(jobs: Jobs, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with ThreadPoolExecutor(8) as pool:
        started = list(pool.map(lambda number: _start(number, gate), range(_MANY)))
    assert len({job.id for job in started}) == _MANY
    assert len(jobs.jobs()) == _MANY
    keepers = [job.spec["keeper"] for job in started]
    alive = sum(identity.is_alive(int(keeper["pid"]), str(keeper["start"])) for keeper in keepers)
    assert alive > _MANY // 2, f"only {alive} of {_MANY} were there at once"
    writer = os.open(gate, os.O_RDWR)  # the readers are let go all at once, however many have opened it already
    try:
        os.write(writer, b"\n" * (1 << 15))
        for job in started[4::5]:
            job.cancel(wait=False)
        results = {job.id: job.wait(timeout=60) for job in started}
    finally:
        os.close(writer)
    outcomes: Counter[str] = Counter()
    for number, job in enumerate(started):
        kind = _KINDS[number % len(_KINDS)]
        result = results[job.id]
        assert (result.status, result.timeout_reason) == _ENDS[kind], (kind, result.status, result.error)
        if kind == "failure":
            assert result.exit_code == number % 90 + 1
        check_log(job.place)
        outcomes[result.status] += 1
    assert outcomes == {"success": 200, "error": 200, "timeout": 400, "cancelled": 200}
    rows = jobs.said("ps", "--all")
    assert Counter(row["status"] for row in rows) == outcomes
    assert unhang.list_jobs() == []
