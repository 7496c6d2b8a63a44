"""The addresses on which a tree of processes listens."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.sampler.connections import listeners
else:
    from unhang.procs.posix.absent import listeners

__all__ = ["listeners"]
