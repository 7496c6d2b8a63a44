"""Locks of whole files that are taken or not, and never waited for. The kernel drops one with its last holder."""

from __future__ import annotations

import fcntl
import os

from unhang.store import files


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file; return False if another open file holds a lock that excludes this one."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_locked(path: str, *, shared: bool = False) -> int | None:
    """Open a private file, made if need be, and lock it until the descriptor is closed; None: another holds it."""
    fd = files.open_plain(path, os.O_RDWR | os.O_CREAT)
    if try_lock(fd, shared=shared):
        return fd
    os.close(fd)
    return None
