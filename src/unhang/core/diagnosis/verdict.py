"""The shape of the answer: a state, a cause, one sentence, what it rests on, and one line for each process."""

from __future__ import annotations

from typing import Any, NamedTuple

from unhang.core.values import bounded, dump

# An event is one line of 4 KiB. A diagnosis may take this many bytes of it; the message, which repeats the reason, and
# the other fields share the rest.
MOST_RECORDED = 2600
_MOST_REASON = 300
_MOST_EVIDENCE = 1300
_MOST_ITEMS = 10
_SIZES = (200, 80, 20)

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
        """Return the line as it stands in `processes` of a diagnosis."""
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
        """Return the whole of it, as every face shows it."""
        return {
            "state": self.state,
            "cause": self.cause,
            "reason": self.reason,
            "evidence": self.evidence,
            "processes": [line.to_json() for line in self.processes],
        }

    def to_record(self) -> dict[str, Any]:
        """Do what `to_json` does, small enough for an event: of a large tree, the processes that the evidence names
        come first.

        How many there were is in the evidence (`processes`).
        """
        whole = self.to_json()
        if _size(whole) <= MOST_RECORDED:
            return whole
        named = {
            name: value[:_MOST_ITEMS] if isinstance(value, list) else value for name, value in self.evidence.items()
        }
        short: dict[str, Any] = {"state": self.state, "cause": self.cause, "reason": self.reason[:_MOST_REASON]}
        short["evidence"] = _fitting(named, _MOST_EVIDENCE) or {}
        left = MOST_RECORDED - _size(short | {"processes": []})
        kept: list[dict[str, Any]] = []
        for line in self.telling_first():
            shown = _fitting(line.to_json(), left)
            if shown is None:
                break
            left -= _size(shown) + 1
            kept.append(shown)
        return short | {"processes": sorted(kept, key=lambda line: int(line["pid"]))}

    def telling_first(self) -> list[ProcessLine]:
        """Return the processes that the evidence names, then the others."""
        named = {self.evidence.get("pid"), *self.evidence.get("ring", ())}
        return sorted(self.processes, key=lambda line: line.pid not in named)


def _size(value: Any) -> int:
    return len(dump(value, compact=True).encode())


def _fitting(value: dict[str, Any], most: int) -> dict[str, Any] | None:
    """The value with its texts cut until it takes no more than `most` bytes; None where that is not enough."""
    for size in _SIZES:
        short: dict[str, Any] = bounded(value, text=size)
        if _size(short) <= most:
            return short
    return None
