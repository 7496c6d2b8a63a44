"""What trees of processes use: processor time, memory, number of processes."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.usage import usage_below
else:
    from unhang.procs.posix.absent import usage_below

__all__ = ["usage_below"]
