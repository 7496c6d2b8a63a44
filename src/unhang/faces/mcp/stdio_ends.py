"""Our ends of the pipes to a client, without an event loop: bytes become lines, and lines are written as they fit.

No descriptor is made non-blocking here: that flag would hold for every process that shares the pipe, the client's own
included. A read of what is readable does not block, nor does a write of a page to what is writable.
"""

from __future__ import annotations

import fcntl
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
else:  # `collections` brings more along than the first answer needs
    from _collections import deque

_READ = 1 << 16
# What a pipe or a socket that can be written to takes without blocking, however little room it has.
_PAGE = 4096
# Of one line of the client: a longer one is refused, and not kept.
LONGEST_LINE = 16 << 20


def claim_ends() -> tuple[ReadEnd, WriteEnd]:
    """Take stdin and stdout for the protocol: from now on 0 is the null device and 1 is standard error.

    So neither a library that prints nor a process that we start comes between the messages.
    """
    heard, said = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(null, 1)
    os.close(null)
    return ReadEnd(heard), WriteEnd(said)


class WriteEnd:
    """Lines for the client, and what it has not taken of them."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0  # of what waits
        self._waiting: deque[memoryview] = deque()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def add(self, line: bytes) -> None:
        """Have a line wait behind the others."""
        self._waiting.append(memoryview(line))
        self.size += len(line)

    def write(self) -> None:
        """Write as much of what waits as the client takes now. Raises OSError if nothing can be said to it any more."""
        while self._waiting and self._poll.poll(0):
            line = self._waiting[0]
            done = os.write(self.fd, line[:_PAGE])
            self.size -= done
            if done == len(line):
                self._waiting.popleft()
            else:
                self._waiting[0] = line[done:]

    def drop(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        self.size = 0


class ReadEnd:
    """The client's lines, as far as they have been read."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.lines: deque[bytes | None] = deque()  # None: a line that was too long
        self.ended = False
        self._begun = bytearray()  # of a line whose end has not come yet
        self._skipping = False  # until the end of a line that is too long
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def readable(self) -> bool:
        """Return whether there is something to read, or the end."""
        return not self.ended and bool(self._poll.poll(0))

    def read(self) -> None:
        """Read what there is, or wait for it."""
        try:
            chunk = os.read(self.fd, _READ)
        except OSError:  # a terminal that is gone, a connection that was reset
            chunk = b""
        if not chunk:
            self.ended = True
            if self._begun:
                self.lines.append(bytes(self._begun))
            return
        first, *others = chunk.split(b"\n")
        self._add(first)
        for rest in others:
            if not self._skipping:
                self.lines.append(bytes(self._begun))
            self._begun.clear()
            self._skipping = False
            self._add(rest)

    def stop(self) -> None:
        """Hear no more of the client, also not what has been read."""
        self.ended = True
        self.lines.clear()

    def _add(self, part: bytes) -> None:
        """Add a part to the line that has begun."""
        if self._skipping:
            return
        self._begun += part
        if len(self._begun) > LONGEST_LINE:
            self._begun.clear()
            self._skipping = True
            self.lines.append(None)
