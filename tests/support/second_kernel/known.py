"""What a machine has said before its power was cut, and whether its disk still says the same afterwards."""

from __future__ import annotations

import json
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.jobs import check_log
from tests.support.second_kernel.load import checksum
from tests.support.second_kernel.machine import Machine
from unhang.core import events as ev
from unhang.core.spec import quote
from unhang.store import files
from unhang.store.layout import JobDir

# Output and quiet events may be so much younger than the cut without being on the disk. (Some seconds are promised;
# the second kernel is slow, and shares its cores.)
LATE = 8.0
WENT_DOWN = "lost: the machine went down"
# What ends only with the machine.
_ENDLESS = {"prints", "silent", "floods"}


def is_promised_at_once(event: dict[str, Any]) -> bool:
    """Whoever has been told of such an event may rely on it, also after a power cut."""
    return event["type"] in (ev.STARTED, ev.SIGNAL, ev.EXITED) or event["phase"] in ("warning", "timeout")


def seconds(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp()


class KnownJob:
    """A job whose id was said, and all that was said of it."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.id: str = report["id"]
        self.kind: str = report["kind"]
        self.command: list[str] = report["command"]
        self.told: dict[int, dict[str, Any]] = {}
        self.down_at = float("inf")  # when the machine that ran it went down
        self.orderly = False  # it was shut down, its power was not cut
        self.end: int | None = None  # checksum of its end, once that has been seen on the disk

    def check(self, home: Path, row: dict[str, Any]) -> None:
        place = JobDir(str(home), self.id)
        events = check_log(place)
        last = events[-1]
        record = files.read_json(place.job)
        assert record is not None
        assert record["argv"] == self.command
        assert events[0]["type"] == ev.STARTED
        assert row["command"] == " ".join(map(quote, self.command))
        assert (row["status"], row["phase"], row["endedAt"]) == (last["status"], last["phase"], last["ts"])
        for seq, told in self.told.items():
            if self.orderly or is_promised_at_once(told) or seconds(told["ts"]) < self.down_at - LATE:
                assert len(events) >= seq, f"event {seq} was told and is gone: {told}"
                assert checksum(events[seq - 1]) == told["sum"], (told, events[seq - 1])
        self._check_end(last)
        assert self.end in (None, checksum(last)), "its end has changed"
        self.end = checksum(last)
        self._check_output(Path(place.stream("stdout")).read_text(), last)

    def _check_end(self, last: dict[str, Any]) -> None:
        """An init that shuts down ends job, keeper and guard in whatever order; a cut ends all at once."""
        if self.orderly:
            assert last["phase"] != "completed"
            assert "never started" not in last["message"]
        elif self.kind in _ENDLESS or last["phase"] == "lost":
            assert last["phase"] == "lost"
            assert last["message"].startswith(WENT_DOWN), last["message"]

    def _check_output(self, text: str, last: dict[str, Any]) -> None:
        if self.kind in ("prints", "floods"):
            check_counting(text)
            if self.kind == "prints":  # a flood is too fast for the disk
                due = [told["reach"] for told in self.told.values() if seconds(told["ts"]) < self.down_at - LATE]
                assert len(text) >= max(due, default=0), f"of {max(due)} bytes of output {len(text)} are left"
        elif last["phase"] not in ("lost", "cancelled") and seconds(last["ts"]) < self.down_at - LATE:
            assert len(text) == last["bytes"]["stdout"], f"of {last['bytes']} bytes of output {len(text)} are left"
            assert {"ends": "done\n", "stubborn": "ready\n"}.get(self.kind, "").startswith(text)


def check_counting(text: str) -> None:
    """Every line begins with the number after the one before it, or with 1; but for one gap that is marked."""
    first, *second = re.split(r"\n\[unhang: \d+ bytes left out here\]\n", text)
    assert len(second) <= 1
    parts = [first.split("\n")[:-1], *(part.split("\n")[1:-1] for part in second)]  # a gap may be within a line
    for lines in parts:
        numbers = [int(line.split()[0]) for line in lines]
        odd = [at for at, pair in enumerate(pairwise(numbers)) if pair[1] not in (pair[0] + 1, 1)]
        assert not odd, f"never printed in this order: {lines[odd[0] : odd[0] + 2]}"


class Known:
    """All jobs that the machine has told of, over all of its boots."""

    def __init__(self) -> None:
        self.jobs: dict[str, KnownJob] = {}

    def hear(self, reports: list[str], down_at: float, *, orderly: bool = False) -> None:
        """Of one boot, up to its end."""
        for line in reports:
            report = json.loads(line)
            if "kind" in report:
                job = self.jobs[report["id"]] = KnownJob(report)
                job.down_at, job.orderly = down_at, orderly
            else:
                self.jobs[report["id"]].told[report["seq"]] = report

    def check(self, home: Path, rows: list[dict[str, Any]]) -> None:
        """`rows`: what `ps` said; `home`: the state directory after that."""
        listed = {row["jobId"]: row for row in rows}
        missing = sorted(self.jobs.keys() - listed.keys())
        assert not missing, f"their ids were said, and ps does not know them: {missing}"
        for job in self.jobs.values():
            try:
                job.check(home, listed[job.id])
            except AssertionError as error:
                raise AssertionError(f"{job.kind} {job.id}: {error}\n{_story(home, job)}") from error
        for job_id in listed.keys() - self.jobs.keys():
            # its start had not returned: it may have run or not, but there is no doubt that it is over
            assert listed[job_id]["status"] != "running", listed[job_id]
            check_log(JobDir(str(home), job_id))


def _story(home: Path, job: KnownJob) -> str:
    told = "\n".join(str(event) for event in job.told.values())
    path = Path(JobDir(str(home), job.id).events)
    log = path.read_text(errors="replace") if path.exists() else "no log"
    return f"told before the machine went down at {job.down_at}:\n{told}\nrecorded:\n{log}"


def load(machine: Machine) -> None:
    """Jobs of every kind, and `unhang start` again and again; all of it reports on the second console."""
    machine.say('"$PYTHON" -I -S "$TESTS/load.py" "$SOURCE" 3 >/dev/tty2 2>/dev/console &')
    machine.say("start_one_after_the_other >/dev/tty2 2>/dev/console &")


def listed(machine: Machine) -> list[dict[str, Any]]:
    """What `ps` says. After a boot it is the first to look, and so the one that records what was lost."""
    rows = json.loads(machine.say("unhang ps --all --json"))
    assert isinstance(rows, list)
    return rows


def check(machine: Machine, known: Known) -> None:
    """What ps says, and what is on the disk then."""
    rows = listed(machine)
    if rows or known.jobs:
        known.check(machine.files(f"after-{machine.boots - 1}"), rows)
