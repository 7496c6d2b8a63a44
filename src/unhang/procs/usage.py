"""What processes and trees of them use: processor time, memory, number of processes; and who has files open."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.usage import readers_of, usage_below, usage_of
else:
    from unhang.procs.posix.absent import readers_of, usage_below, usage_of

__all__ = ["readers_of", "usage_below", "usage_of"]
