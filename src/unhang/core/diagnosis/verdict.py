"""The shape of the answer: a state, a cause, one sentence, what it rests on, and one line for each process."""

from __future__ import annotations

from typing import Any, NamedTuple

HUNG, ALIVE, UNSURE = "hung", "alive", "unsure"
STATES = (HUNG, ALIVE, UNSURE)
CAUSES = (
    "input", "network", "lock", "deadlock", "pipe_cycle", "stopped", "leak", "idle", "timer", "poll", "busy",
    "listening", "progress", "unknown",
)  # fmt: skip


class ProcessLine(NamedTuple):
    pid: int
    ppid: int
    comm: str
    cmd: str
    state: str
    cpu: float  # per cent of one core between the two looks
    waits: str
    since: float | None  # seconds that it has not run; None where the kernel does not say
    hidden: bool = False

    def to_json(self) -> dict[str, Any]:
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
    state: str
    cause: str
    reason: str
    evidence: dict[str, Any]
    processes: list[ProcessLine]

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "cause": self.cause,
            "reason": self.reason,
            "evidence": self.evidence,
            "processes": [line.to_json() for line in self.processes],
        }


def seconds(value: float) -> str:
    """41 s, 12 min, 3 h: as long as a person would say it."""
    if value < 90:
        return f"{value:.0f} s"
    if value < 5400:
        return f"{value / 60:.0f} min"
    if value < 172_800:
        return f"{value / 3600:.0f} h"
    return f"{value / 86_400:.0f} days"
