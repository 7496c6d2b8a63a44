"""A tree of processes on Linux, owned without root and without cgroups.

The keeper is a child subreaper *before* it spawns, so every orphan below it becomes its child, whatever setsid,
double fork, nohup or nested subreaper did: the tree below is closed. Hence the one proof that nothing is left:
`waitpid` says ECHILD. A scan of /proc proves nothing (a chain of fork-and-exit slips through it).

Ending: walk, SIGKILL parents before children (so a respawner dies before what it would respawn), reap, repeat.
Killing only direct children in waves is faster on ordinary trees and loses against an exponential fork bomb.
A direct child cannot be recycled until we reap it; anything deeper is signalled through a pidfd opened *before* its
start time is compared.
"""

from __future__ import annotations

import ctypes
import os
import signal

from unhang.procs import stat
from unhang.procs.base import Process, Reaped, Signalled

PR_SET_CHILD_SUBREAPER = 36


FALLOC_FL_KEEP_SIZE = 1


def children(pid: int, threads: int = 0) -> list[int]:
    """Direct children. With one thread its own file is enough; a child belongs to the thread that forked it."""
    if threads == 1:
        data = stat.read_file(f"/proc/{pid}/task/{pid}/children")
        return [int(p) for p in data.split()] if data else []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        data = stat.read_file(f"/proc/{pid}/task/{task}/children")
        if data:
            found += [int(p) for p in data.split()]
    return found


def descendants(root: int) -> list[Process]:
    """Everything below `root` that lives, parents before children; zombies are walked through but not listed."""
    found: list[Process] = []
    seen = {root}
    level = [(root, 0)]
    while level:
        below: list[tuple[int, int]] = []
        for parent, threads in level:
            for pid in children(parent, threads):
                if pid in seen:
                    continue
                seen.add(pid)
                entry = stat.of(pid)
                if entry is None:
                    continue
                process, its_threads = entry
                if process.state not in "ZX":
                    found.append(process)
                below.append((pid, its_threads))
        level = below
    return found


def signal_one(process: Process, signals: tuple[int, ...], *, direct: bool) -> bool:
    """False: it is gone (or recycled). Raises PermissionError for another user's process."""
    if direct:
        try:
            for number in signals:
                os.kill(process.pid, number)
        except ProcessLookupError:
            return False
        return True
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if stat.start_time(process.pid) != process.start:
            return False
        for number in signals:
            signal.pidfd_send_signal(fd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


class LinuxTree:
    proof = True

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def adopt(self) -> None:
        if self._libc.prctl(PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")

    def allocate(self, fd: int, offset: int, length: int) -> None:
        """Python's own posix_fallocate would make the file longer."""
        if self._libc.fallocate(fd, FALLOC_FL_KEEP_SIZE, ctypes.c_long(offset), ctypes.c_long(length)):
            raise OSError(ctypes.get_errno(), "fallocate")

    def spawned(self, leader: int) -> None:
        """Nothing to remember: ancestry is the membership."""

    def members(self) -> list[Process]:
        return descendants(os.getpid())

    def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
        me = os.getpid()
        reached: list[Process] = []
        denied: list[Process] = []
        for process in self.members():
            if only is not None and process.pid != only:
                continue
            try:
                if signal_one(process, signals, direct=process.ppid == me):
                    reached.append(process)
            except PermissionError:
                denied.append(process)
        return Signalled(reached, denied)

    def reap(self) -> Reaped:
        exits: dict[int, int] = {}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return Reaped(exits, empty=True)
            if pid == 0:
                return Reaped(exits, empty=False)
            exits[pid] = status
