"""The network connections of a program, and where jobs listen."""

from __future__ import annotations

import sys

if sys.platform == "linux":
    from unhang.procs.linux.sampler.connections import connections, listening
else:
    from unhang.procs.posix.absent import connections, listening

__all__ = ["connections", "listening"]
