"""Ends the tree, step by step, and keeps a true account: who was signalled, who was left over, who survived."""

from __future__ import annotations

import signal

from unhang.core.outcome import HARD, SOFT
from unhang.core.record import Record
from unhang.procs import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.procs.base import Process, Tree

# SIGCONT after it: a stopped process cannot die of SIGTERM
POLITE = (signal.SIGTERM, signal.SIGCONT)
FINAL = (signal.SIGKILL,)


class Step(Record):
    name: str  # "terminate" or "kill"
    signal: str
    pids: list[int]
    denied: list[int]


class Ending:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.mode: str | None = None
        self.leftovers: list[dict[str, Any]] = []

    def note_leftovers(self) -> None:
        """The leader is gone: name what it left behind, before that is ended too."""
        self.leftovers = named(self._tree.members())

    def terminate(self, only: int | None = None) -> Step:
        """`only`: this direct child of ours, not the whole tree."""
        done = self._tree.signal(POLITE, only)
        self.mode = self.mode or SOFT
        return Step("terminate", "SIGTERM", _pids(done.reached), _pids(done.denied))

    def kill(self) -> Step:
        """One round; to be repeated until the tree is empty. Only a round that found somebody makes it hard."""
        done = self._tree.signal(FINAL)
        if done.reached or done.denied:
            self.mode = HARD
        return Step("kill", "SIGKILL", _pids(done.reached), _pids(done.denied))

    def survivors(self) -> list[dict[str, Any]]:
        return named(self._tree.members(), why=True)


def _pids(processes: list[Process]) -> list[int]:
    return [p.pid for p in processes]


def named(processes: list[Process], *, why: bool = False, most: int = 10) -> list[dict[str, Any]]:
    """For reports: pid and command; for survivors also the state that explains them."""
    out: list[dict[str, Any]] = []
    for process in processes[:most]:
        entry: dict[str, Any] = {
            "pid": process.pid,
            "command": stat.command_line(process.pid, 80) or process.name,
        }
        if why:
            entry["state"] = process.state
        out.append(entry)
    return out
