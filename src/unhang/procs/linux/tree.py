"""A tree of processes on Linux, owned without root and without cgroups.

The keeper is a child subreaper *before* it spawns, so every orphan below it becomes its child, whatever setsid,
double fork, nohup or nested subreaper did: the tree below is closed. Hence the one proof that nothing is left:
`waitpid` says ECHILD. A scan of /proc proves nothing (a chain of fork-and-exit slips through it).

Ending: walk, SIGKILL parents before children (so a respawner dies before what it would respawn), reap, repeat.
Killing only direct children in waves is faster on ordinary trees and loses against an exponential fork bomb.
A direct child cannot be recycled until we reap it; anything deeper is signalled through a pidfd opened *before* its
start time is compared.

A walk may be blind: no /proc, a /proc that hides processes, no descriptor left to read it with. That is not the same
as an empty tree, and is said (`Survey.unseen`). What needs neither /proc nor a descriptor is done all the same: the
leader's process group is signalled as a whole, and our own children are found by asking the kernel (census.py). What
they leave behind when they die becomes our child in turn.
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
from unhang.procs.identity import exists
from unhang.procs.linux import census, pidfd, procfs
from unhang.procs.linux.libc import CLibrary

# A pidfd or a file of /proc could be had but for these.
_SHORTAGE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class _NotListed(Exception):
    """This kernel has no lists of children (CONFIG_PROC_CHILDREN)."""


def children(pid: int, threads: int = 0) -> list[int]:
    """Return the direct children; none of a process that is gone. OSError: they cannot be read, which is not none.

    With one thread its own file is enough; a child belongs to the thread that forked it.
    """
    try:
        return _listed(pid, threads)
    except _NotListed:
        return _table().get(pid, [])


def _listed(pid: int, threads: int) -> list[int]:
    try:
        tasks = [str(pid)] if threads == 1 else os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        if exists(pid):  # there is no /proc, or it hides this process
            raise
        return []
    found: list[int] = []
    for task in tasks:
        try:
            found += map(int, procfs.read_or_raise(f"/proc/{pid}/task/{task}/children").split())
        except ProcessLookupError:
            continue
        except FileNotFoundError:
            if os.path.exists(f"/proc/{pid}/task/{task}/stat"):
                raise _NotListed from None
            if threads == 1 and exists(pid):
                raise
    return found


def _table() -> dict[int, list[int]]:
    from unhang.procs.linux.sampler.tree import children_table

    return children_table()


def survey(root: int) -> Survey:
    """Return everything below `root` that lives, parents before children; zombies are passed through, not listed."""
    if not procfs.sees_own_namespace():
        return Survey([], _why_not_ours())
    found: list[ProcessInfo] = []
    unseen = ""
    seen = {root}
    level = [(root, 0)]
    table: dict[int, list[int]] | None = None
    while level:
        below: list[tuple[int, int]] = []
        for parent, threads in level:
            try:
                listed = _listed(parent, threads) if table is None else table.get(parent, [])
            except _NotListed:
                table = _table()
                listed = table.get(parent, [])
            except OSError as error:
                unseen = unseen or _why(parent, error)
                continue
            for pid in listed:
                if pid in seen:
                    continue
                seen.add(pid)
                process = procfs.find(pid)
                if process is None:
                    if not exists(pid):
                        continue
                    unseen = unseen or f"process {pid} cannot be looked at"
                    process = _hidden(pid, parent)
                if not process.is_dead:
                    found.append(process)
                below.append((pid, process.threads))
        level = below
    return Survey(found, unseen)


def _hidden(pid: int, parent: int) -> ProcessInfo:
    """A process of which no more is known than whose child it is."""
    return ProcessInfo(pid, UNKNOWN, parent, UNKNOWN, UNKNOWN)


def _why_not_ours() -> str:
    return "/proc shows another PID namespace" if os.path.exists("/proc/self") else "/proc is not mounted"


def _why(pid: int, error: OSError) -> str:
    if error.errno != errno.ENOENT:
        return f"/proc cannot be read: {error.strerror}"
    return f"process {pid} is hidden in /proc" if os.path.exists("/proc/self") else "/proc is not mounted"


def signal_one(process: ProcessInfo, signals: tuple[int, ...], *, direct: bool) -> bool:
    """Signal this process and no other. False: it is gone, or its number is another's by now.

    PermissionError: it is another user's. OSError: there is no descriptor to reach it by. `direct`: it is a child of
    ours, so that its number is its own until we reap it.
    """
    if direct:
        return signal_number(process.pid, signals)
    try:
        fd = pidfd.open_process(process.pid)
    except ProcessLookupError:
        return False
    except OSError as error:
        if error.errno in _SHORTAGE:
            raise
        fd = -1  # an old kernel, a container that forbids it: compared and signalled at once, by number
    try:
        if not _is_still(process):
            return False
        for number in signals:
            if fd >= 0:
                pidfd.signal_process(fd, number)
            else:
                os.kill(process.pid, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        if fd >= 0:
            os.close(fd)


def _is_still(process: ProcessInfo) -> bool:
    """The process that was seen, and no other that has its number now."""
    now = procfs.find(process.pid)
    if now is not None and process.start != UNKNOWN:
        return now.start == process.start
    # It cannot be looked at, or could not: only whose child it is can tell. If its parent has been ended, it is ours.
    return census.lives(process.pid) or process.pid in children(process.ppid)


class LinuxTree:
    """Everything below this process, proved by the kernel."""

    proof = True

    def __init__(self) -> None:
        self._libc = CLibrary()
        self._leader: int | None = None
        self._census = census.Census()

    def adopt(self) -> None:
        """Become a child subreaper."""
        self._libc.become_subreaper()

    def allocate(self, fd: int, offset: int, length: int) -> None:
        """Reserve blocks beyond the end of a file. Python's own posix_fallocate would make the file longer."""
        self._libc.reserve(fd, offset, length)

    def spawned(self, leader: int) -> None:
        """Note the leader: where ancestry, which is the membership, cannot be seen, its group is what is left."""
        self._leader = leader

    def survey(self) -> Survey:
        """Return all living members; where /proc does not show them, at least our own children."""
        me = os.getpid()
        seen = survey(me)
        if not seen.unseen or _can_list(me):
            return seen
        known = {process.pid for process in seen.found}
        # the leader is known without a count, which a busy machine may not let come that far
        led = [self._leader] if self._leader is not None and census.lives(self._leader) else []
        more = [_hidden(pid, me) for pid in dict.fromkeys([*led, *self._census.children()]) if pid not in known]
        return seen.replace(found=[*seen.found, *more])

    def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
        """Signal every member, or `only` one direct child; the leader's group too where some cannot be seen."""
        me = os.getpid()
        if only is not None:
            # known without a walk: its number is its own until we reap it
            seen = Survey([_hidden(only, me)] if census.lives(only) else [])
        else:
            seen = self.survey()
        group = self._signal_group(signals) if seen.unseen else None

        def send(process: ProcessInfo) -> bool:
            if group is not None and os.getpgid(process.pid) == group:
                return True  # it has got them already
            return signal_one(process, signals, direct=process.ppid == me)

        done = signal_members(seen.found, send)
        return done.replace(group=group, unseen=seen.unseen or done.unseen)

    def _signal_group(self, signals: tuple[int, ...]) -> int | None:
        """The leader's process group as a whole; None: nothing of it is ours any more, or we may not."""
        if self._leader is None or not census.has_child_in(self._leader) or not signal_group(self._leader, signals):
            return None
        return self._leader

    def reap(self) -> Reaped:
        """Collect every exit there is. ECHILD is the proof that nothing is left."""
        exits: dict[int, int] = {}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return Reaped(exits, empty=True)
            if pid == 0:
                return Reaped(exits, empty=False)
            exits[pid] = status


def _can_list(pid: int) -> bool:
    if not procfs.sees_own_namespace():
        return False
    try:
        children(pid)
    except OSError:
        return False
    return True
