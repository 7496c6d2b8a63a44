"""Passes a job's output on to its caller in the foreground, without ever blocking the keeper.

The descriptor is shared with a shell and others, so it must not be made non-blocking: that is a property of the open
file, not of our copy. Instead the same pipe or terminal is opened anew. Where that is impossible the relay writes no
more than a pipe is guaranteed to take at once.
"""

from __future__ import annotations

import os
import select
import stat as modes

from unhang.procs import descriptors

# POSIX: a pipe that polls writable takes this many bytes without blocking.
PIPE_BUF = select.PIPE_BUF


class Relay:
    """One stream of output on its way to the caller."""

    def __init__(self, fd: int) -> None:
        self._careful = False
        self.at_terminal = os.isatty(fd)
        self.fd = self._own(fd)
        self.waiting = memoryview(b"")  # what the reader has not taken yet
        self.broken = False  # the reader has gone away

    def _own(self, fd: int) -> int:
        mode = os.fstat(fd).st_mode
        if modes.S_ISREG(mode) or modes.S_ISBLK(mode):
            return fd
        try:
            return descriptors.reopen_for_writing(fd)
        except OSError:
            # a socket, another user's terminal, a system that cannot
            self._careful = True
            return fd

    def offer(self, data: memoryview) -> None:
        """Take all of it; what cannot be written now is `waiting` (as a copy: the caller's buffer is reused)."""
        if self.waiting:
            self.waiting = memoryview(b"".join((self.waiting, data)))
            return
        rest = self._write(data)
        if rest:
            self.waiting = memoryview(bytes(rest))

    def flush(self) -> None:
        """Write what waits, as far as the reader takes it."""
        self.waiting = self._write(self.waiting)

    def _write(self, data: memoryview) -> memoryview:
        if self.broken:
            return memoryview(b"")
        while data:
            if self._careful and not self._writable():
                return data
            try:
                done = os.write(self.fd, data[:PIPE_BUF] if self._careful else data)
            except BlockingIOError:
                return data
            except OSError:
                # EPIPE: no reader; EIO: the terminal is gone; ENOSPC, EBADF: nothing can be shown any more
                self.broken = True
                return memoryview(b"")
            data = data[done:]
        return data

    def _writable(self) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        return bool(poll.poll(0))
