"""A tree of processes where there is no subreaper: a process group and a walk of the tree, by `ps`.

Weaker than linux/tree.py, and honest about it (`proof` is False): a daemon that left both the group and the ancestry
cannot be found again. What was seen once is remembered by pid and start time, so an orphan of a known member is
still ended after its parent is gone. Where `ps` cannot be run, the leader and its group are signalled all the same.
"""

from __future__ import annotations

import errno
import os

from unhang.procs.base import (
    UNKNOWN,
    ProcessInfo,
    Reaped,
    Signalled,
    Survey,
    signal_group,
    signal_members,
    signal_number,
)
from unhang.procs.posix import ps


def children(pid: int) -> list[int]:
    """Return the direct children. OSError: they cannot be listed."""
    return [process.pid for process in ps.process_table().values() if process.ppid == pid]


def survey(root: int) -> Survey:
    """Return everything below `root` that lives, parents before children."""
    try:
        table = ps.process_table()
    except OSError as error:
        return Survey([], f"ps cannot be run: {error.strerror}")
    return Survey(_with_descendants([process.pid for process in table.values() if process.ppid == root], table))


def signal_one(process: ProcessInfo, signals: tuple[int, ...], *, direct: bool) -> bool:
    """Signal this process and no other. False: it is gone, or its number is another's by now.

    Between the comparison and the signal its number may still be given away: there are no handles on processes here.
    """
    if not direct and process.start != UNKNOWN:
        now = ps.find(process.pid)
        if now is None or now.start != process.start:
            return False
    return signal_number(process.pid, signals)


class PosixTree:
    """A tree that is held together by its leader's process group and by what was seen of it."""

    proof = False

    def __init__(self) -> None:
        self._leader: int | None = None
        self._reaped = self._group_gone = False
        self._known: dict[int, str] = {}  # pid → start time

    def adopt(self) -> None:
        """Do nothing: orphans go to init here, and are found again by their group or by memory."""

    def allocate(self, fd: int, offset: int, length: int) -> None:  # noqa: ARG002 - the interface's
        """Raise OSError: Python's posix_fallocate would make the file longer."""
        raise OSError(errno.ENOTSUP, "no portable way")

    def spawned(self, leader: int) -> None:
        """Note the leader, whose number is that of its process group too."""
        self._leader = leader
        self._reaped = self._group_gone = False

    def survey(self) -> Survey:
        """Return the leader, its group, what was known before, and the descendants of all these."""
        if self._leader is None:
            return Survey([])
        try:
            table = ps.process_table()
        except OSError as error:
            unseen = f"ps cannot be run: {error.strerror}"
            return Survey([] if self._reaped else [ProcessInfo(self._leader, UNKNOWN, 0, UNKNOWN, UNKNOWN)], unseen)
        belongs = [] if self._reaped else [self._leader]  # its number may be another process's by now
        if not self._group_gone:
            grouped = [p.pid for p in table.values() if p.group == self._leader and p.pid != self._leader]
            self._group_gone = self._reaped and not grouped  # from now on its number may be another group's
            belongs += grouped
        belongs += [pid for pid, start in self._known.items() if pid in table and table[pid].start == start]
        ordered = _with_descendants(belongs, table)
        self._known.update({p.pid: p.start for p in ordered})
        return Survey(ordered)

    def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
        """Signal every member, or `only` one; the group as a whole where members cannot be listed."""
        seen = self.survey()
        group = self._signal_group(signals) if seen.unseen and only is None else None
        members = [process for process in seen.found if only is None or process.pid == only]
        if group is not None:  # the group has got the signals already
            return Signalled(members, [], group, seen.unseen)
        done = signal_members(members, lambda process: signal_one(process, signals, direct=True))
        return done.replace(unseen=seen.unseen or done.unseen)

    def _signal_group(self, signals: tuple[int, ...]) -> int | None:
        """The leader's, while its number is certainly ours: until the leader has been reaped."""
        if self._leader is None or self._reaped or not signal_group(self._leader, signals):
            return None
        return self._leader

    def reap(self) -> Reaped:
        """Collect the leader's exit. Without adoption only a walk can tell what is left, and it is not a proof."""
        exits: dict[int, int] = {}
        while self._leader is not None:
            try:
                pid, status = os.waitpid(self._leader, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                return Reaped(exits, empty=False)
            exits[pid] = status
            self._reaped = True
        seen = self.survey()
        return Reaped(exits, empty=not seen.found and not (seen.unseen and self._group_lives()))

    def _group_lives(self) -> bool:
        """Where no walk can be made: whether any process is in the leader's group."""
        if self._leader is None or self._group_gone:
            return False
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            self._group_gone = True
        except PermissionError:
            pass
        return not self._group_gone


def _with_descendants(pids: list[int], table: dict[int, ProcessInfo]) -> list[ProcessInfo]:
    """These and everything below them that lives, parents before children."""
    ordered: list[ProcessInfo] = []
    seen: set[int] = set()
    queue = list(pids)
    while queue:
        pid = queue.pop(0)
        if pid in seen:
            continue
        seen.add(pid)
        if pid in table and not table[pid].is_dead:
            ordered.append(table[pid])
        queue += [process.pid for process in table.values() if process.ppid == pid]
    return ordered
