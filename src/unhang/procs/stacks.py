"""Stacks of processes, for `diagnose --deep`. Unlike the sampler, this may touch the processes."""

from __future__ import annotations

import sys

from unhang.procs.base import Stack

if sys.platform == "linux":
    from unhang.procs.linux.stacks import stacks
else:
    from unhang.procs.posix.absent import stacks

__all__ = ["Stack", "stacks"]
