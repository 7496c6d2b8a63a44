"""The network connections of a program."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.sampler.connections import connections
else:
    from unhang.procs.posix.absent import connections

__all__ = ["connections"]
