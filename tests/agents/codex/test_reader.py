"""A reader who has nothing but `unhang events JOB --after-seq N --json` knows at every moment how a job stands."""

from __future__ import annotations

import json
from typing import Any

from tests.support.codex.harness import PATIENT, Bench
from tests.support.engine import wait_until
from unhang.jobs.handle import Job

# Not a sign of work by themselves: what stood before them still stands.
_ASIDE = frozenset({"metering", "warning", "idle"})


class Reader:
    """By the rules of docs/codex.md, and by nothing else."""

    def __init__(self, bench: Bench, job: Job) -> None:
        self._bench = bench
        self._job = job
        self._seq = 0
        self.state = "working"
        self.states = ["working"]
        self.why = ""
        self.how = ""

    def read(self) -> str:
        done = self._bench.call("events", self._job.id, "--after-seq", self._seq, "--json")
        for line in done.out.decode().splitlines():
            event = json.loads(line)
            self._seq = event["seq"]
            self._take(event)
        return self.state

    def _take(self, event: dict[str, Any]) -> None:
        kind, phase = event["type"], event["phase"]
        state = self.state
        if kind == "job/exited":
            state, self.how = "ended", phase
        elif phase == "needs_approval":
            state = "needs approval"
        elif phase == "stuck":
            state, self.why = "stuck", (event.get("diagnosis") or {}).get("reason", "")
        elif kind == "agent" and phase not in _ASIDE:
            state = "working"
        if state != self.state:
            self.state = state
            self.states.append(state)


def test_a_hang_is_read_as_working_then_stuck_then_ended(bench: Bench) -> None:
    job = bench.begun("[[hang]]", "--idle", "15", "--hard", "100", "--stall", "2", "--grace", "30")
    reader = Reader(bench, job)
    # a slow start is a stall, too, with a reason of its own
    wait_until(lambda: reader.read() == "stuck" and "nothing from the model" in reader.why, "its model is silent")
    wait_until(lambda: reader.read() == "ended", "its end")
    assert reader.how == "timed_out"
    assert reader.states[:2] == ["working", "stuck"]


def test_an_approval_is_read_while_it_is_waited_for(bench: Bench) -> None:
    asks = ("--ask-for-approval", "on-request", "--sandbox", "read-only", "--approvals", "ask")
    job = bench.begun(f"[[escalate:touch {bench.workspace}/done]]", *asks, *PATIENT)
    reader = Reader(bench, job)
    wait_until(lambda: reader.read() == "needs approval", "it is seen to wait")
    bench.call("send", job.id, "no")
    wait_until(lambda: reader.read() == "ended", "its end")
    assert reader.states == ["working", "needs approval", "working", "ended"]
    assert reader.how == "completed"


def test_a_failure_is_read_as_one(bench: Bench) -> None:
    job = bench.begun("[[500]]", *PATIENT)
    reader = Reader(bench, job)
    wait_until(lambda: reader.read() == "ended", "its end")
    assert (reader.states, reader.how) == (["working", "ended"], "failed")
