"""A keeper that waits costs nothing, whatever it waits for."""

from __future__ import annotations

import os
import sys

import pytest

import unhang

pytestmark = pytest.mark.usefixtures("nothing_is_left")

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


def cpu_of(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_keeper_that_waits_for_the_grace_does_not_spin() -> None:
    """Past the moment at which it asks for its history, too: ten seconds after the start."""
    job = unhang.start([sys.executable, "-c", IGNORES_TERM], idle="off", hard="off", grace=14)
    keeper = int(job.spec["keeper"]["pid"])
    next(event for event in job.watch() if event["type"] == "output")
    job.cancel(wait=False)
    before = cpu_of(keeper)
    for event in job.watch(timeout=12.5):
        assert event["type"] != "job/exited"
    assert cpu_of(keeper) - before < 1.0
    job.cancel(force=True)
