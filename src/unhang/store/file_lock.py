"""Locks of whole files that are taken or not, and waited for no longer than asked. The kernel drops one with its last
holder, but a holder that is stopped keeps it.
"""

from __future__ import annotations

import fcntl
import os
import time

from unhang.procs import clock
from unhang.store import files

_PROBE = 0.02


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file; return False if another open file holds a lock that excludes this one."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(fd: int, seconds: float) -> bool:
    """Lock an open file, and wait so long for another that holds it; return False if it still does."""
    deadline = clock.monotonic() + seconds
    while not try_lock(fd):
        if clock.monotonic() >= deadline:
            return False
        time.sleep(_PROBE)
    return True


def open_locked(path: str, *, shared: bool = False) -> int | None:
    """Open a private file, made if need be, and lock it until the descriptor is closed; None: another holds it."""
    fd = files.open_plain(path, os.O_RDWR | os.O_CREAT)
    if try_lock(fd, shared=shared):
        return fd
    os.close(fd)
    return None
