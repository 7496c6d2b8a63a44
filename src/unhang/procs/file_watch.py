"""Being told when files and folders change. The events are the bits of `base`."""

from __future__ import annotations

import sys

from unhang.procs.base import ADDED, ATTRIBUTES, CHANGED, GONE, OVERFLOWED, RELEASED, REMOVED, UNMOUNTED, WRITTEN

if sys.platform == "linux":
    from unhang.procs.linux.inotify import InotifyWatch as FileWatch
else:
    from unhang.procs.posix.absent import AbsentFileWatch as FileWatch

__all__ = [
    "ADDED",
    "ATTRIBUTES",
    "CHANGED",
    "GONE",
    "OVERFLOWED",
    "RELEASED",
    "REMOVED",
    "UNMOUNTED",
    "WRITTEN",
    "FileWatch",
]
