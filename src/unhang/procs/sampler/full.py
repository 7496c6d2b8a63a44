"""Everything the system shows of why a tree is quiet."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.sampler.full import full
else:
    from unhang.procs.posix.absent import full

__all__ = ["full"]
