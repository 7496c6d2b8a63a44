"""Background jobs in a state directory of a test's own, through the real command line and the real library."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.support.engine import Done, Engine, actor, wait_until
from unhang.core import events as ev
from unhang.jobs.handle import Job
from unhang.procs import markers
from unhang.store import files, find, reader
from unhang.store.layout import JobDir
from unhang.testing.liveness import Process, RollCall

__all__ = [
    "STILL",
    "Done",
    "Jobs",
    "actor",
    "check_log",
    "deserted",
    "keeper_of",
    "kill_with_guard",
    "left_of",
    "over",
    "wait_until",
]

# Never ends by itself, and nothing is said of it by itself, however slow the machine is: what happens to it is what is
# tested.
STILL = ("--idle", "off", "--stall", "30m", "--hard", "1h")


def keeper_of(place: JobDir) -> tuple[Process, Process]:
    """Keeper and guard, as the record names them, held by their pidfds."""
    job = wait_until(lambda: files.read_json(place.job), "job.json")
    return Process(int(job["keeper"]["pid"]), "keeper"), Process(int(job["keeper"]["guard"]), "guard")


def kill_with_guard(place: JobDir) -> None:
    """The guard is killed first, and both are gone: no process of unhang is left to end the job."""
    keeper, guard = keeper_of(place)
    for process in (guard, keeper):
        process.send(signal.SIGKILL)
        assert process.wait_gone()


def over(job: Job) -> Job:
    """When it has ended and its keeper and guard are gone: nothing in its directory changes any more."""
    keeper, guard = keeper_of(job.place)
    job.wait()
    assert keeper.wait_gone()
    assert guard.wait_gone()
    return job


def left_of(place: JobDir) -> list[int]:
    """Every process with a mark of this job that lives on (its keeper may take a moment to go)."""
    tag = ((files.read_json(place.job) or {}).get("keeper") or {}).get("tag")
    marks = markers.Marks(place.id, tag)
    for process in markers.find(marks):
        Process(process.pid).wait_gone(10)
    return [process.pid for process in markers.find(marks)]


def check_log(place: JobDir) -> list[dict[str, Any]]:
    """The events, after proving that every byte is one of a whole log: numbered, one end, last."""
    data = Path(place.events).read_bytes()
    assert data.endswith(b"\n"), f"a torn line: {data[-200:]!r}"
    lines = data.split(b"\n")[:-1]
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count(ev.EXITED) == 1, [event["type"] for event in events]
    assert events[-1]["type"] == ev.EXITED
    assert events[0]["v"] == ev.FORMAT
    assert all({"seq", "ts", "type", "phase", "message"} <= set(event) for event in events)
    assert all(len(line) < ev.MAX_LINE for line in lines)
    assert reader.read_all(place.events) == events
    return events


def deserted(roll: RollCall) -> bool:
    """Nobody who called lives, also if nobody ever called (the kernel says end-of-file only after a first writer)."""
    os.close(os.open(roll.path, os.O_WRONLY | os.O_NONBLOCK))
    return roll.wait_empty()


class Jobs(Engine):
    """`call` runs any command of unhang's to its end; `begin` starts a job in the background."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)

    def call(self, *words: object, timeout: float = 60, **options: Any) -> Done:
        return self.finish(self.popen(*words, **options), timeout)

    def popen(self, *words: object, **options: Any) -> subprocess.Popen[bytes]:
        return self.popen_program(*self.command(*words), **options)

    def popen_program(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process: subprocess.Popen[bytes] = subprocess.Popen(words, **(given | {"env": self.env} | options))
        self._started.append(process)
        return process

    def begin(self, *words: object, **options: Any) -> Job:
        done = self.call("start", *words, **options)
        assert done.code == 0, done.err
        assert done.err == b""
        return self.handle(done.out.decode().strip())

    def handle(self, job_id: str) -> Job:
        return Job(JobDir(str(self.home), job_id))

    def copy(self, original: JobDir, place: JobDir) -> JobDir:
        """A second directory with the same record, under its own name."""
        shutil.copytree(original.path, place.path, ignore=shutil.ignore_patterns("control", "notify", "*.new"))
        record = json.loads(Path(place.job).read_text())
        Path(place.job).write_text(json.dumps(record | {"id": place.id}))
        return place

    def said(self, *words: object, code: int = 0) -> Any:
        """What a command prints with --json."""
        done = self.call(*words, "--json")
        assert done.code == code, (done.code, done.err)
        return json.loads(done.out)

    def refused(self, *words: object, code: int = 125, **options: Any) -> str:
        """Runs a command that must fail with one line and nothing on stdout; the line."""
        done = self.call(*words, **options)
        assert done.code == code, (done.code, done.out, done.err)
        assert done.out == b""
        lines = done.err.decode().splitlines()
        assert len(lines) == 1, done.err
        assert lines[0].startswith("unhang: ")
        return lines[0]

    def end_everything(self) -> None:
        """Whatever a test left running; a job that cannot be asked is found by its marks afterwards."""
        try:
            ids = find.all_ids(str(self.home))
        except Exception:  # a home that was made untrustworthy on purpose
            return
        for job_id in ids:
            try:
                self.handle(job_id).cancel(force=True, wait=False)
            except Exception:  # one without a keeper, or planted by the test
                continue
