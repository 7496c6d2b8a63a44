"""The client's lines on stdin and ours on stdout, read and written by the event loop itself.

A thread for each line would cost a call more than everything else that the server does for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from unhang.faces.mcp.stdio_ends import ReadEnd, WriteEnd
from unhang.jobs.client_process import hung_up

# How much may wait for a client that does not read, before the next sender waits with it.
_MOST_WAITING = 1 << 16
# How much may wait for it in all, before nothing more is read of what it asks.
_MOST_UNREAD = 16 << 20
# At the end: how long a client may take nothing of what is left for it, before it is not waited for any more.
_PATIENCE = 5.0


class ClientGone(Exception):
    """Nothing can be said to the client any more."""


class LineTooLong(Exception):
    """The client has sent a line that is longer than one may be. The rest of it is skipped as it comes."""


class LineOutput:
    """Our messages, a line each. A message that was begun is sent whole, even if its sender is cancelled meanwhile."""

    def __init__(self, end: WriteEnd, patience: float = _PATIENCE) -> None:
        """`end`: something may wait there already. Its loop must be running."""
        self.when_broken: Callable[[], None] | None = None  # called when nothing can be said any more
        self._end = end
        self._patience = patience
        self._sent = asyncio.Event()  # nothing waits
        self._broken = False
        if end.size:
            asyncio.get_running_loop().add_writer(end.fd, self._write)
        else:
            self._sent.set()

    @property
    def full(self) -> bool:
        """Return whether so much waits for the client that it must read before it asks for more."""
        return self._end.size > _MOST_UNREAD

    def watch(self) -> None:
        """Notice from now on when the client closes its end, also while there is nothing to be said to it."""
        with contextlib.suppress(PermissionError):  # a file, which has no other end
            asyncio.get_running_loop().add_reader(self._end.fd, self._look)

    def unwatch(self) -> None:
        """Leave that to the next message that is sent."""
        asyncio.get_running_loop().remove_reader(self._end.fd)

    def _look(self) -> None:
        if hung_up(self._end.fd):
            self._break()
        # else there is something to read: this is a terminal or a connection of two ways, and the input tells its end
        self.unwatch()

    def leave(self, line: bytes) -> None:
        """Send a line, or leave it to be sent as the client reads, however much waits. Raises ClientGone."""
        if self._broken:
            raise ClientGone
        self._end.add(line)
        if self._sent.is_set():
            self._sent.clear()
            self._write()

    async def send(self, line: bytes) -> None:
        """Send a line; while much waits, wait until the client has read it. Raises ClientGone if it cannot be sent."""
        self.leave(line)
        if self._end.size > _MOST_WAITING:
            await self._sent.wait()
        if self._broken:
            raise ClientGone

    def _write(self) -> None:
        """Write as much as the client takes now; the rest when it takes more."""
        try:
            self._end.write()
        except OSError:
            self._break()
            return
        if self._end.size:
            asyncio.get_running_loop().add_writer(self._end.fd, self._write)
        else:
            self._all_sent()

    def _all_sent(self) -> None:
        asyncio.get_running_loop().remove_writer(self._end.fd)
        self._sent.set()

    def _break(self) -> None:
        """The client is gone: nothing can be said to it any more."""
        self._broken = True
        self._end.drop()
        self._all_sent()
        if self.when_broken is not None:
            self.when_broken()

    async def close(self) -> None:
        """Wait until everything is sent, or until the client reads no more of it."""
        while not self._sent.is_set():
            before = self._end.size
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._sent.wait(), self._patience)
            if self._end.size == before:
                return


class LineInput:
    """The lines of the client.

    They end with our output, too: a client that hears no answers is gone, even if a wrapper holds its other pipe open.
    """

    def __init__(self, end: ReadEnd, output: LineOutput) -> None:
        """`end`: it may hold lines already."""
        self._end = end
        self._come: asyncio.Future[None] | None = None  # while there is nothing to read
        output.when_broken = self._stop

    async def next(self) -> bytes | None:
        """Return the next line; None at the end. Raises LineTooLong in the place of a line that is too long."""
        while not self._end.lines:
            if self._end.ended:
                return None
            await self._readable()
            if not self._end.ended:  # it may be the output that ended, with nothing to read
                self._end.read()
        line = self._end.lines.popleft()
        if line is None:
            raise LineTooLong
        return line

    @property
    def hung_up(self) -> bool:
        """Return whether the client has closed its end, although there may be something left to read."""
        return self._end.ended or hung_up(self._end.fd)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        come = self._come = loop.create_future()
        try:
            loop.add_reader(self._end.fd, _done, come)
        except PermissionError:  # a file or the null device, which never blocks
            await asyncio.sleep(0)
            return
        try:
            await come
        finally:
            loop.remove_reader(self._end.fd)

    def _stop(self) -> None:
        self._end.stop()
        if self._come is not None:
            _done(self._come)


def _done(come: asyncio.Future[None]) -> None:
    if not come.done():
        come.set_result(None)
