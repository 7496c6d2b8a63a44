"""The client's lines on stdin and ours on stdout, read and written by the event loop itself.

A thread for each line would cost a call more than everything else that the server does for it. No descriptor is made
non-blocking here: that flag would hold for every process that shares the pipe, the client's own included. A read of
what is readable does not block, nor does a write of a page to what is writable.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import select
from collections import deque
from collections.abc import Callable

from unhang.jobs.client_process import hung_up

_READ = 1 << 16
# What a pipe or a socket that can be written to takes without blocking, however little room it has.
_PAGE = 4096
# How much may wait for a client that does not read, before the next sender waits with it.
_MOST_WAITING = 1 << 16
# How much may wait for it in all, before nothing more is read of what it asks.
_MOST_UNREAD = 16 << 20
# Of one line of the client: a longer one is refused, and not kept.
LONGEST_LINE = 16 << 20
# At the end: how long a client may take nothing of what is left for it, before it is not waited for any more.
_PATIENCE = 5.0


def claim_streams() -> tuple[LineInput, LineOutput]:
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
    output = LineOutput(said)
    return LineInput(heard, output), output


class ClientGone(Exception):
    """Nothing can be said to the client any more."""


class LineTooLong(Exception):
    """The client has sent a line that is longer than LONGEST_LINE. The rest of it is skipped as it comes."""


class LineOutput:
    """Our messages, a line each. A message that was begun is sent whole, even if its sender is cancelled meanwhile."""

    def __init__(self, fd: int, patience: float = _PATIENCE) -> None:
        self.when_broken: Callable[[], None] | None = None  # called when nothing can be said any more
        self._fd = fd
        self._patience = patience
        self._waiting: deque[memoryview] = deque()
        self._size = 0  # of what waits
        self._sent = asyncio.Event()  # nothing waits
        self._sent.set()
        self._broken = False
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    @property
    def full(self) -> bool:
        """Return whether so much waits for the client that it must read before it asks for more."""
        return self._size > _MOST_UNREAD

    def watch(self) -> None:
        """Notice from now on when the client closes its end, also while there is nothing to be said to it."""
        with contextlib.suppress(PermissionError):  # a file, which has no other end
            asyncio.get_running_loop().add_reader(self._fd, self._look)

    def unwatch(self) -> None:
        """Leave that to the next message that is sent."""
        asyncio.get_running_loop().remove_reader(self._fd)

    def _look(self) -> None:
        if hung_up(self._fd):
            self._break()
        # else there is something to read: this is a terminal or a connection of two ways, and the input tells its end
        self.unwatch()

    def leave(self, line: bytes) -> None:
        """Send a line, or leave it to be sent as the client reads, however much waits. Raises ClientGone."""
        if self._broken:
            raise ClientGone
        self._waiting.append(memoryview(line))
        self._size += len(line)
        if self._sent.is_set():
            self._sent.clear()
            self._write()

    async def send(self, line: bytes) -> None:
        """Send a line; while much waits, wait until the client has read it. Raises ClientGone if it cannot be sent."""
        self.leave(line)
        if self._size > _MOST_WAITING:
            await self._sent.wait()
        if self._broken:
            raise ClientGone

    def _write(self) -> None:
        """Write as much as the client takes now; the rest when it takes more."""
        try:
            while self._waiting and self._poll.poll(0):
                line = self._waiting[0]
                done = os.write(self._fd, line[:_PAGE])
                self._size -= done
                if done == len(line):
                    self._waiting.popleft()
                else:
                    self._waiting[0] = line[done:]
        except OSError:
            self._break()
            return
        if self._waiting:
            asyncio.get_running_loop().add_writer(self._fd, self._write)
        else:
            self._all_sent()

    def _all_sent(self) -> None:
        asyncio.get_running_loop().remove_writer(self._fd)
        self._sent.set()

    def _break(self) -> None:
        """The client is gone: nothing can be said to it any more."""
        self._broken = True
        self._waiting.clear()
        self._size = 0
        self._all_sent()
        if self.when_broken is not None:
            self.when_broken()

    async def close(self) -> None:
        """Wait until everything is sent, or until the client reads no more of it."""
        while not self._sent.is_set():
            before = self._size
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sent.wait(), self._patience)
            if self._size == before:
                return


class LineInput:
    """The lines of the client.

    They end with our output, too: a client that hears no answers is gone, even if a wrapper holds its other pipe open.
    """

    def __init__(self, fd: int, output: LineOutput) -> None:
        self._fd = fd
        self._lines: deque[bytes | None] = deque()  # None: a line that was too long
        self._begun = bytearray()  # of a line whose end has not come yet
        self._skipping = False  # until the end of a line that is too long
        self._ended = False
        self._come: asyncio.Future[None] | None = None  # while there is nothing to read
        output.when_broken = self._end

    async def next(self) -> bytes | None:
        """Return the next line; None at the end. Raises LineTooLong in the place of a line that is too long."""
        while not self._lines:
            if self._ended:
                return None
            await self._readable()
            if not self._ended:  # it may be the output that ended, with nothing to read
                self._take(self._read())
        line = self._lines.popleft()
        if line is None:
            raise LineTooLong
        return line

    @property
    def hung_up(self) -> bool:
        """Return whether the client has closed its end, although there may be something left to read."""
        return self._ended or hung_up(self._fd)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _READ)
        except OSError:  # a terminal that is gone, a connection that was reset
            return b""

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
            if self._begun:
                self._lines.append(bytes(self._begun))
            return
        first, *others = chunk.split(b"\n")
        self._add(first)
        for rest in others:
            if not self._skipping:
                self._lines.append(bytes(self._begun))
            self._begun.clear()
            self._skipping = False
            self._add(rest)

    def _add(self, part: bytes) -> None:
        """Add a part to the line that has begun."""
        if self._skipping:
            return
        self._begun += part
        if len(self._begun) > LONGEST_LINE:
            self._begun.clear()
            self._skipping = True
            self._lines.append(None)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        come = self._come = loop.create_future()
        try:
            loop.add_reader(self._fd, _done, come)
        except PermissionError:  # a file or the null device, which never blocks
            await asyncio.sleep(0)
            return
        try:
            await come
        finally:
            loop.remove_reader(self._fd)

    def _end(self) -> None:
        self._ended = True
        self._lines.clear()
        if self._come is not None:
            _done(self._come)


def _done(come: asyncio.Future[None]) -> None:
    if not come.done():
        come.set_result(None)
