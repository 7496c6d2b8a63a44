"""Ends the tree, step by step, and keeps a true account: who was signalled, who was left over, who survived."""

from __future__ import annotations

import os

from unhang import plain_signal as signal
from unhang.core.outcome import HARD, SOFT
from unhang.core.plural import several
from unhang.core.record import Record
from unhang.procs import identity
from unhang.procs.base import signal_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.procs.base import ProcessInfo, Signalled, Tree

# SIGCONT after it: a stopped process cannot die of SIGTERM
POLITE = (signal.SIGTERM, signal.SIGCONT)
FINAL = (signal.SIGKILL,)


class Step(Record):
    """One signal to the tree: which processes it reached, and what is not known of it."""

    name: str  # "interrupt", "terminate" or "kill"
    signal: str
    pids: list[int]
    denied: list[int]
    group: int | None = None  # the process group that got it as a whole
    unseen: str = ""  # why further processes may exist that were not found

    def text(self) -> str:
        """Return the step as a sentence for people; it never counts 0 processes where some may not have been seen."""
        count = len(self.pids)
        if self.group is not None:
            reached = f"{self.signal} to process group {self.group}"
            reached += f" and to the processes that are known ({count})" if count else ""
        elif count:
            reached = f"{self.signal} to {several(count, 'process', 'processes')}"
        else:
            reached = f"{self.signal}: no process was found to send it to"
        if self.denied:
            reached += f"; {len(self.denied)} belong to another user and could not be signalled"
        return f"{reached}; there may be others: {self.unseen}" if self.unseen else reached

    def fields(self) -> dict[str, Any]:
        """Return the fields of its event, beside those that every signal has."""
        shown: dict[str, Any] = {} if self.group is None else {"group": self.group}
        return shown | ({"unseen": self.unseen} if self.unseen else {})


class Stopper:
    """Ends the tree of one attempt, and keeps the account of it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.mode: str | None = None
        self.interrupted = False  # SIGINT is the only signal that was sent
        self.leftovers: list[dict[str, Any]] = []
        self.unseen = ""  # why the leftovers or the survivors may not be all

    def note_leftovers(self) -> None:
        """Name the processes that the leader left running, before they are ended too."""
        seen = self._tree.survey()
        self.leftovers, self.unseen = named(seen.found), seen.unseen

    def interrupt(self, group: int) -> Step:
        """Send SIGINT to a process group of the job, as a terminal does."""
        if signal_group(group, (signal.SIGINT,)):
            self.mode = self.mode or SOFT
            self.interrupted = True
            return Step("interrupt", "SIGINT", [], [], group)
        return Step("interrupt", "SIGINT", [], [])

    def terminate(self, only: int | None = None) -> Step:
        """Send SIGTERM to the tree; with `only` to this direct child alone."""
        done = self._tree.signal(POLITE, only)
        self.interrupted = False
        self.mode = self.mode or SOFT
        return _step("terminate", "SIGTERM", done)

    def is_ignored(self) -> bool:
        """Return whether all that is left of the tree was seen to ignore SIGTERM."""
        seen = self._tree.survey()
        return not seen.unseen and bool(seen.found) and all(identity.ignores(p.pid, signal.SIGTERM) for p in seen.found)

    def kill(self) -> Step:
        """Kill once; to be repeated until the tree is empty. The mode becomes hard only if a process was found."""
        done = self._tree.signal(FINAL)
        if done.reached or done.denied or done.group is not None:
            self.mode = HARD
            self.interrupted = False
        return _step("kill", "SIGKILL", done)

    def survivors(self) -> list[dict[str, Any]]:
        """Return what is left although it was killed, with the state that explains it."""
        seen = self._tree.survey()
        self.unseen = seen.unseen
        return named(seen.found, why=True)


def exit_of(status: int | None) -> tuple[int | None, int | None]:
    """Return the exit code and the signal that a wait status holds: at most one of them."""
    code = None if status is None else os.waitstatus_to_exitcode(status)
    if code is None:
        return None, None
    return (code, None) if code >= 0 else (None, -code)


def _step(name: str, signal_name: str, done: Signalled) -> Step:
    return Step(name, signal_name, _pids(done.reached), _pids(done.denied), done.group, done.unseen)


def _pids(processes: list[ProcessInfo]) -> list[int]:
    return [p.pid for p in processes]


def named(processes: list[ProcessInfo], *, why: bool = False, most: int = 10) -> list[dict[str, Any]]:
    """Describe processes for a report: pid and command; of survivors also the state that explains them."""
    out: list[dict[str, Any]] = []
    for process in processes[:most]:
        entry: dict[str, Any] = {
            "pid": process.pid,
            "command": _command(process),
        }
        if why:
            entry["state"] = process.state
        out.append(entry)
    return out


def _command(process: ProcessInfo) -> str:
    """The name is known from the walk, also if the rest cannot be read any more."""
    try:
        from unhang.procs import command_line  # most jobs leave nothing behind that is to be named

        text = command_line.of(process.pid, 80)
    except (ImportError, OSError):  # no descriptor is left to load it with
        return f"[{process.name}]"
    return f"[{process.name}]" if text == command_line.GONE else text
