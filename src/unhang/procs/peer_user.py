"""Whose the other end of a TCP connection is."""

from __future__ import annotations

import sys

from unhang.procs.base import NO_USER

if sys.platform == "linux":
    from unhang.procs.linux.peer_user import user_of_peer
else:
    from unhang.procs.posix.absent import user_of_peer

__all__ = ["NO_USER", "user_of_peer"]
