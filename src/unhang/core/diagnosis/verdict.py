"""The shape of the answer: a state, a cause, one sentence, what it rests on, and one line for each process."""

from __future__ import annotations

from typing import Any, NamedTuple

HUNG, ALIVE, UNSURE = "hung", "alive", "unsure"
STATES = (HUNG, ALIVE, UNSURE)


class ProcessLine(NamedTuple):
    """One process of the tree, and what it waits for."""

    pid: int
    ppid: int
    comm: str
    cmd: str
    state: str
    cpu: float  # per cent of one core between the two looks
    waits: str  # for people
    since: float | None  # seconds that it has not run; None where the kernel does not say
    hidden: bool = False

    def to_json(self) -> dict[str, Any]:
        """As it stands in `processes` of a diagnosis."""
        shown: dict[str, Any] = {
            "pid": self.pid,
            "ppid": self.ppid,
            "comm": self.comm,
            "cmd": self.cmd,
            "state": self.state,
            "cpuPercent": round(self.cpu, 1),
            "waits": self.waits,
            "sinceMs": None if self.since is None else round(self.since * 1000),
        }
        if self.hidden:
            shown["hidden"] = True
        return shown


class Diagnosis(NamedTuple):
    """Why a tree is quiet. `cause` is the name of a row of `causes`; `evidence` holds what programs may read of it."""

    state: str
    cause: str
    reason: str  # one sentence, for people
    evidence: dict[str, Any]
    processes: list[ProcessLine]

    def to_json(self) -> dict[str, Any]:
        """As every face shows it and the log records it."""
        return {
            "state": self.state,
            "cause": self.cause,
            "reason": self.reason,
            "evidence": self.evidence,
            "processes": [line.to_json() for line in self.processes],
        }
