"""Finds this process's own children where /proc cannot be read: no file is opened for it.

The kernel says of any number whether we could wait for a process of that number (`waitid` with WNOWAIT takes nothing
away). So all numbers are asked that were handed out since this process began. That is slow (a microsecond each, up to
four million), but it is exact, and it finds a daemon that has left the process group of the job: its parent is gone,
so it is our child. One call asks for a tenth of a second at most, and the next call goes on from there.
"""

from __future__ import annotations

import itertools
import os
import time

from unhang.procs.linux import procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# The kernel's PID_MAX_LIMIT: no process has a higher number, where pid_max cannot be read.
_HIGHEST = 1 << 22
_SHARE = 0.1
_STRIDE = 512
# ask, take nothing away, do not wait
_LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT


def lives(pid: int) -> bool:
    """Return whether this is a child of ours that has not ended. Its number is its own until we have waited for it."""
    try:
        return os.waitid(os.P_PID, pid, _LOOK) is None
    except ChildProcessError:
        return False


def has_child_in(group: int) -> bool:
    """Return whether a child of ours is in this process group: then its number is no other group's."""
    try:
        os.waitid(os.P_PGID, group, _LOOK)
    except ChildProcessError:
        return False
    return True


class Census:
    """Finds our children by number. Make it while all is well: what it learns of the machine makes a count short."""

    def __init__(self) -> None:
        self._highest = int(procfs.read("/proc/sys/kernel/pid_max") or _HIGHEST)
        self._numbers: Iterator[int] = iter(())
        self._found: dict[int, None] = {}

    def children(self) -> list[int]:
        """Return the living ones that are known by now."""
        deadline = time.monotonic() + _SHARE
        renewed = False
        while time.monotonic() < deadline:
            part = list(itertools.islice(self._numbers, _STRIDE))
            self._found.update(dict.fromkeys(pid for pid in part if lives(pid)))
            if not part:
                if renewed:
                    break  # everything was asked in this one call
                self._numbers, renewed = _numbers_since(os.getpid(), self._highest), True
        self._found = {pid: None for pid in self._found if lives(pid)}
        return list(self._found)


def _numbers_since(first: int, highest: int) -> Iterator[int]:
    """Every number that may have been handed out after `first`, the latest ones first.

    They are given in order, and after the highest they begin anew.
    """
    newest = _newest()
    if newest is not None and newest > first:
        return iter(range(newest - 1, first, -1))
    return itertools.chain(range((newest or first) - 1, 0, -1), range(first + 1, highest + 1))


def _newest() -> int | None:
    """The number that a process gets which is made now; None: none can be made."""
    try:
        pid = os.fork()
    except OSError:
        return None
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
