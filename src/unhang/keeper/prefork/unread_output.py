"""What a job has printed and its keeper has not read: seen and kept by the guard of a keeper that does not run.

A pipe is opened a second time through the keeper's own descriptor, so what is in it outlives the keeper.
A terminal cannot be opened like that; what waits there goes with the keeper.
"""

from __future__ import annotations

import fcntl
import os
import stat as modes
import sys

from unhang.procs import descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_FIONREAD = 0x541B  # in termios, which is not loaded for this alone
# A pipe is full when the next write does not fit, and one of up to a page is never split.
_PAGE = 4096
# Far more than a pipe of ours holds: what is more comes from a process that still writes.
_MOST = 4 << 20


class UnreadOutput:
    """The guard's own descriptors of the pipes that the job prints to."""

    def __init__(self, keeper: int, pipes: Iterable[Iterable[Any]]) -> None:
        """`pipes`: the name of each stream, and the keeper's descriptor of it."""
        self._fds: dict[str, int] = {}
        for name, number in pipes:
            try:
                fd = descriptors.open_of(keeper, number, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue
            if modes.S_ISFIFO(os.fstat(fd).st_mode):
                self._fds[str(name)] = fd
            else:
                os.close(fd)

    def count(self) -> tuple[int, bool]:
        """Return how many bytes the keeper has not read, and whether a pipe is full, so that the job must wait."""
        total, full = 0, False
        for fd in self._fds.values():
            try:
                waiting = int.from_bytes(fcntl.ioctl(fd, _FIONREAD, bytes(4)), sys.byteorder)
                full = full or waiting >= fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) - _PAGE
            except OSError:
                continue
            total += waiting
        return total, full

    def take(self) -> dict[str, bytes]:
        """Return all of it; to be called when no process of the job is left."""
        found: dict[str, bytes] = {}
        for name, fd in self._fds.items():
            parts: list[bytes] = []
            try:
                while sum(map(len, parts)) < _MOST and (part := os.read(fd, 1 << 16)):
                    parts.append(part)
            except OSError:
                pass  # empty, and a stranger holds the other end
            found[name] = b"".join(parts)
        return found

    def close(self) -> None:
        """Close the descriptors; what is left in the pipes is lost."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
