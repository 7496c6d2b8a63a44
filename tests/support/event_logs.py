"""Logs of jobs that never ran, for tests of pure code: any events in any order, numbered and stamped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from unhang.core import events as ev

START = 1_800_000_000.0


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


LIMITS = {"idleMs": {"value": 60_000, "source": "policy"}, "hardMs": {"value": 600_000, "source": "cli"}}
SAYS = st.text(max_size=40)
DIAGNOSIS = {"state": "hung", "cause": "network", "reason": "waits for a peer", "evidence": {}, "processes": []}


def an_agent(phase: str, message: str, call: str | None) -> dict[str, Any]:
    event = ev.agent(phase, message)
    return event if call is None else event | {"toolUseId": call}


EVENTS = st.one_of(
    st.builds(ev.output, st.sampled_from(["stdout", "stderr"]), st.integers(1, 1 << 20), st.integers(0, 1 << 30)),
    st.builds(ev.heartbeat, SAYS),
    st.builds(lambda: ev.watchdog("stuck", "no sign of life", stallMs=1, diagnosis=DIAGNOSIS)),
    st.builds(lambda text: ev.watchdog("needs_input", "waits", prompt=text, since=stamp(START)), SAYS),
    st.builds(lambda left: ev.watchdog("warning", "near", idleMs=5, willAbortInMs=left), st.integers(0, 10**6)),
    st.builds(lambda left: ev.watchdog("warning", "near", wallClockMs=5, willAbortInMs=left), st.integers(0, 10**6)),
    st.builds(
        lambda left, asked: ev.watchdog(
            "extended", "more", tier="idle", willAbortInMs=left, asked=asked, limits={"idleMs": 90_000}
        ),
        st.integers(0, 10**6),
        st.booleans(),
    ),
    st.just(ev.watchdog("resumed", "again")),
    st.just(ev.watchdog("quiet", "works", stallMs=1)),
    st.builds(an_agent, st.sampled_from(ev.PHASES[ev.AGENT]), SAYS, st.sampled_from([None, "a", "b", "c"])),
    st.just(ev.signal("terminate", "SIGTERM", [4], "idle", "SIGTERM to 1 process")),
    st.just(ev.started(8, "again", LIMITS) | {"attempt": 2}),
)
ENDS = st.sampled_from(
    [
        None,
        ev.exited("completed", "exited with 0", {"status": "success", "exitCode": 0, "durationMs": 5}),
        ev.exited("failed", "exited with 3", {"status": "error", "exitCode": 3, "durationMs": 5}),
        ev.exited("lost", "lost", {"status": "error"}),
        ev.exited("cancelled", "cancelled", {"status": "cancelled", "durationMs": 5}),
    ]
)


@st.composite
def logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The events of one job, numbered and stamped."""
    found = [ev.started(7, "make", LIMITS), *draw(st.lists(EVENTS, max_size=25))]
    end = draw(ENDS)
    found += [] if end is None else [end]
    at, log = START, []
    for seq, event in enumerate(found, 1):
        log.append({"seq": seq, "ts": stamp(at)} | event)
        at += draw(st.integers(0, 400)) / 4
    return log
