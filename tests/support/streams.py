"""Recorded streams of jobs and sessions, one for each state, each need of a person and each end, as files of a home.

A process of the test's own stands for the keeper of those that run, so that they are not found to be lost.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tests.support.event_logs import stamp
from unhang.core import events as ev
from unhang.procs import clock, identity, vantage
from unhang.store import files
from unhang.store.layout import JobDir
from unhang.store.session_log import SessionLog

LIMITS = {"idleMs": {"value": 3_600_000, "source": "cli"}, "hardMs": {"value": 36_000_000, "source": "cli"}}
DIAGNOSIS = {"state": "hung", "cause": "network", "reason": "waits for 10.0.0.7:443", "evidence": {}, "processes": []}
_ASLEEP = {
    "state": "alive",
    "cause": "timer",
    # a second later it is said to be 3d 5h, and for an hour: a test may take its time to look at every surface
    "reason": "sleep [4] sleeps, wakes by itself in 3d 6h",
    "evidence": {"pid": 4, "endsInMs": 280_800_000},
    "processes": [],
}
DAYS = 2 * 86400.0


class Stream(NamedTuple):
    """`state`: the words that every surface must show. `needs`: the kind of its attention, if it needs a person.

    `events`: seconds ago, and the event; the job was started 100 seconds before the first.
    """

    name: str
    state: str
    needs: str | None
    events: list[tuple[float, dict[str, Any]]]
    record: dict[str, Any]

    @property
    def runs(self) -> bool:
        return not self.events or self.events[-1][1]["type"] != ev.EXITED


def stream(name: str, state: str, needs: str | None, *events: tuple[float, dict[str, Any]], **record: Any) -> Stream:
    return Stream(name, state, needs, list(events), record)


def _end(phase: str, status: str, ago: float = 30.0, **fields: Any) -> tuple[float, dict[str, Any]]:
    return ago, ev.exited(phase, f"how it ended: {phase}", {"status": status, "durationMs": 70_000} | fields)


def _warned(left: int, **fields: Any) -> dict[str, Any]:
    return ev.watchdog("warning", "near", willAbortInMs=left, **fields)


_IDLE = _warned(300_000, idleMs=60_000, reason="no_output_timeout")
_HARD = _warned(400_000, wallClockMs=60_000, reason="exec_timeout")
_PRINTED = (50.0, ev.output("stdout", 5, 0))
_STUCK = ev.watchdog("stuck", "no sign of life", stallMs=1000, diagnosis=DIAGNOSIS)
_PROMPT = ev.watchdog("needs_input", "waits", prompt="Name? ", since=stamp(clock.wall() - 40))
_ASKS = ev.agent("needs_approval", "rm -rf build") | {"request": "Run rm -rf build?", "answers": "yes|no"}
_SIGNAL = ev.signal("terminate", "SIGTERM", [4], "idle", "SIGTERM to 1 process")
_TWO = {"attempts": 2, "totalMs": 90_000}

STREAMS = (
    stream("talks", "running", None, _PRINTED),
    stream("beats", "running", None, (20.0, ev.heartbeat("step 3 of 7"))),
    stream("sleeps", "waits for timer", None, (20.0, ev.watchdog("stuck", "sleeps", stallMs=1000, diagnosis=_ASLEEP))),
    stream("works", "works quietly", None, (20.0, ev.watchdog("quiet", "works", stallMs=1000))),
    stream("thinks", "thinking", None, (20.0, ev.agent("thinking", "thinks"))),
    stream("finishes", "finishing", None, (20.0, ev.agent("completed", "the turn is over"))),
    stream("paused", "paused", None, (20.0, ev.watchdog("paused", "stopped by Ctrl-Z"))),
    stream("stops", "stopping", None, (20.0, _SIGNAL)),
    stream("far", "elsewhere", None, _PRINTED, keeper={"pidNamespace": "pid:[1]"}),
    stream("hangs", "stuck", "stuck", (20.0, _STUCK)),
    stream("asks", "needs input", "input", (35.0, _PROMPT), stdin="pipe"),
    stream("may-it", "needs approval", "approval", (30.0, _ASKS), stdin="pipe"),
    stream("silent", "ends soon", "warning", (25.0, _IDLE)),
    stream("long", "ends soon", "warning", (20.0, _HARD)),
    stream("well", "done", None, _end("completed", "success", exitCode=0)),
    stream("twice", "done", None, _end("completed", "success", exitCode=0, **_TWO)),
    stream("badly", "failed (3)", "failed", _end("failed", "error", 31.0, exitCode=3)),
    stream("crashed", "failed (SIGSEGV)", "failed", _end("failed", "error", 32.0, signal="SIGSEGV")),
    stream("in-front", "failed (4)", None, _end("failed", "error", exitCode=4), foreground=True),
    stream("long-ago", "failed (5)", None, _end("failed", "error", DAYS, exitCode=5)),
    stream("too-long", "timed out", "failed", _end("timed_out", "timeout", 33.0)),
    stream("ended", "cancelled", None, _end("cancelled", "cancelled", signal="SIGTERM")),
    stream("lost", "lost", "lost", _end("lost", "error")),
)


def put(home: str, made: Stream, number: int, keeper: int) -> str:
    """Write the files of a job; its id. `keeper`: the pid of a process that lives."""
    process = identity.find(keeper)
    assert process is not None
    here, now = vantage.here(), clock.wall()
    place = JobDir(home, f"strm{number:06d}")
    for folder in (home, f"{home}/jobs", place.path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    first = max((ago for ago, _ in made.events), default=0.0)
    begun = stamp(now - first - 100.0)
    known = {
        "tag": (1 << 50) + number,
        "pid": keeper,
        "start": process.start,
        "boot": here.boot,
        "pidNamespace": here.pids,
        "host": here.host,
    }
    record: dict[str, Any] = {
        "argv": ["make", made.name],
        "cwd": "/srv",
        "labels": {"name": made.name},
        "stdin": "null",
    }
    record |= {"foreground": False, "sources": LIMITS, "createdAt": begun, "id": place.id, "kind": "command"}
    files.write_json(place.job, record | made.record | {"keeper": known | made.record.get("keeper", {})})
    events = [(first + 100.0, ev.started(keeper, "make", LIMITS)), *made.events]
    with open(place.events, "wb") as file:
        for seq, (ago, event) in enumerate(events, 1):
            head = {"seq": seq, "ts": stamp(now - ago)} | ({"v": ev.FORMAT} if seq == 1 else {})
            file.write(ev.to_line(head | event))
    return place.id


def put_bad_ends(home: str, count: int, keeper: int) -> list[str]:
    """Write so many jobs that failed in the background, and one that runs; the names of the failed, newest first."""
    names = [f"bad-{number:03d}" for number in range(count)]
    for number, name in enumerate(names):
        end = _end("failed", "error", 1000.0 + number, exitCode=3)
        put(home, stream(name, "failed (3)", "failed", end), number, keeper)
    put(home, stream("runs", "running", None), count, keeper)
    return names


# of each session: its id, the words, what it needs, its events
SESSIONS: tuple[tuple[str, str, str | None, tuple[dict[str, Any], ...]], ...] = (
    ("busy-1", "busy", None, ({"type": "hook", "phase": "tool", "toolUseId": "t", "message": "Bash: make"},)),
    ("idle-1", "idle", None, ({"type": "hook", "phase": "idle", "message": "its turn is over"},)),
    ("waits-1", "needs approval", "approval", ({"type": "hook", "phase": "waiting", "message": "Bash: rm -rf x"},)),
    (
        "asks-1",
        "needs input",
        "input",
        ({"type": "hook", "phase": "notice", "notificationType": "idle_prompt", "message": "waits for you"},),
    ),
    ("warned-1", "ends soon", "warning", ({"type": "watch", "phase": "warning", "message": "8m of 10m"},)),
    ("hung-1", "stuck", "stuck", ({"type": "watch", "phase": "hung", "message": "the call hangs"},)),
    ("over-1", "ended", None, ({"type": "hook", "phase": "ended", "message": "exit"},)),
    ("gone-1", "ended", None, ({"type": "watch", "phase": "gone", "message": "its process is gone"},)),
)


def put_sessions(home: str) -> None:
    for session, _, _, events in SESSIONS:
        log = SessionLog(session, home)
        for event in events:
            log.append(event | {"cwd": f"/srv/{session}"})
