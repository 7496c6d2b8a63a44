"""The counters of a tree, on every look. It is on the keeper's start-up path, so it imports nothing dear."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.sampler.cheap import TreeSampler, cheap
else:
    from unhang.procs.posix.absent import AbsentTreeSampler as TreeSampler
    from unhang.procs.posix.absent import cheap

__all__ = ["TreeSampler", "cheap"]
