"""Which process is this, and is it still the same one? A pid alone may be another process's by now."""

from __future__ import annotations

import os
import sys

if sys.platform == "linux":
    from unhang.procs.linux import procfs as system
else:
    from unhang.procs.posix import ps as system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.base import ProcessInfo

# What each system answers in its own way.
age = system.age
argv = system.argv
boot_id = system.boot_id
environment = system.environment
every = system.every
executable = system.executable
find = system.find
ignores = system.ignores
lock_limit = system.lock_limit
memory_kills = system.memory_kills
owner = system.owner
pid_namespace = system.pid_namespace
sees_own_namespace = system.sees_own_namespace
time_namespace = system.time_namespace
working_directory = system.working_directory

# A process that has more ancestors than this is taken for unrelated.
_MOST_ANCESTORS = 64


def start_time(pid: int) -> str | None:
    """Return the start time of the process that has this number now."""
    found = find(pid)
    return found.start if found is not None else None


def find_same(pid: int, start: str) -> ProcessInfo | None:
    """Return the process that had this number and start time, if it still lives."""
    found = find(pid)
    return found if found is not None and found.start == start and not found.is_dead else None


def is_alive(pid: int, start: str) -> bool:
    """Return whether this very process lives: neither dead nor a zombie, and no other that got its number."""
    return find_same(pid, start) is not None


def is_below(pid: int, ancestor: int) -> bool:
    """Return whether `pid` is `ancestor` or descends from it."""
    for _ in range(_MOST_ANCESTORS):
        if pid == ancestor:
            return True
        found = find(pid)
        if found is None or found.ppid <= 0:
            return False
        pid = found.ppid
    return False


def exists(pid: int) -> bool:
    """Return whether any process has this number, of any user. This needs no descriptor and no /proc."""
    if pid <= 0:
        return False  # to `kill`, these are groups
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
