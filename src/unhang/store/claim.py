"""The keeper's claim on its job: a lock on the job's log, held for as long as the keeper lives.

It is the one sign of life that can be seen wherever the file can be seen: from another PID namespace, without /proc, by
a machine that shares the home directory. The kernel drops it with the keeper, by whatever death. So a job whose log is
claimed is never called lost, and recovery takes the claim itself before it writes, so that a log has one writer.

Asking (`is_claimed`) takes no lock: a reader that is stopped in the middle of it holds up no other process. These are
locks of an open file (F_OFD_*), not of a process: opening and closing the log elsewhere does not drop them.
"""

from __future__ import annotations

import fcntl
import os
import sys

from unhang.errors import StateError
from unhang.store import files

# struct flock: type and whence (2 bytes each), then start, length and pid, all zero: the whole file.
_REST = bytes(30)
_GET, _SET = getattr(fcntl, "F_OFD_GETLK", None), getattr(fcntl, "F_OFD_SETLK", None)
# The layout above is that of 64-bit systems; elsewhere there is no claim, and pids and start times decide alone.
SUPPORTED = _GET is not None and _SET is not None and sys.maxsize > 2**32


def _request(kind: int) -> bytes:
    return kind.to_bytes(2, sys.byteorder) + _REST


def take(fd: int) -> bool:
    """Claim the log behind `fd` (open for writing), until the last copy of `fd` is closed. False: it is claimed."""
    if not SUPPORTED or _SET is None:
        return True
    try:
        fcntl.fcntl(fd, _SET, _request(fcntl.F_WRLCK))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True  # a file system without locks: there is no claim to be had by another process either
    return True


def is_claimed(path: str) -> bool:
    """Return whether a living process claims this log. False also where that cannot be told (no log, no locks)."""
    if not SUPPORTED or _GET is None:
        return False
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except (OSError, StateError):
        return False
    try:
        answer = fcntl.fcntl(fd, _GET, _request(fcntl.F_WRLCK))
    except OSError:
        return False
    finally:
        os.close(fd)
    return int.from_bytes(answer[:2], sys.byteorder) != fcntl.F_UNLCK
