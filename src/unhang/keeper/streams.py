"""The job's side of the pipes: reading what it prints, feeding what it reads. Never blocks.

Reading goes straight into one buffer, of all streams of a keeper, that is stored and relayed from there. Pipes are made
larger only when a job really floods: the kernel gives each user a fixed number of pages for all pipes together.
"""

from __future__ import annotations

import fcntl
import os
import select

from unhang.core.spec import INPUT_LIMIT
from unhang.keeper.relay import Relay
from unhang.procs import clock
from unhang.store.output import OutputStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.terminal_modes import TerminalModes

_SMALL = 1 << 16
_LARGE = 1 << 18
_PAGE = 4096
# so many full reads in a row make a flood
_FLOOD = 4
F_GETPIPE_SZ, F_SETPIPE_SZ = getattr(fcntl, "F_GETPIPE_SZ", None), getattr(fcntl, "F_SETPIPE_SZ", None)
# what one turn of the loop may read of one stream before the clock and the other streams get their turn
_TURN = 4 << 20
# how long a turn may wait for a narrow pipe to be filled again, in seconds; and at a time, in milliseconds
_LINGER, _MOMENT = 0.01, 1


def _capacity(fd: int) -> int:
    """How many bytes a pipe holds; a terminal has no such number and counts as a small pipe."""
    try:
        return fcntl.fcntl(fd, F_GETPIPE_SZ) if F_GETPIPE_SZ is not None else _SMALL
    except OSError:
        return _SMALL


class ReadBuffer:
    """Where what a job prints is read into, and stays until it is stored: one stream's after the other's.

    It is made before the job is known: to touch that much memory for the first time takes a short job's time.
    """

    def __init__(self) -> None:
        self.data = bytearray(_SMALL)

    def grow(self) -> None:
        """Have room for what a larger pipe holds."""
        if len(self.data) < _LARGE:
            self.data = bytearray(_LARGE)


class OutputStream:
    """One stream that the job prints to: read, stored and relayed to the caller."""

    def __init__(
        self,
        name: str,
        fd: int,
        store: OutputStore,
        relay: Relay | None,
        buffer: ReadBuffer,
        shown: TerminalModes | None = None,
    ) -> None:
        """`shown`: what has become of the person's terminal, where this stream is relayed to it."""
        self.name = name
        self._shown = shown
        self.fd = fd
        self.store = store
        self.relay = relay
        self.open = True
        self.announced = 0  # how many bytes the event log knows of
        self._answered = 0  # how many there were when the caller last sent input
        self.said_at = float("-inf")  # when it was last told
        self._buffer = buffer
        self._full = min(_SMALL, _capacity(fd))
        self._full_reads = 0
        self._narrow: select.poll | None = None  # of a flood through a pipe that cannot be made larger
        self._until = 0.0

    @property
    def blocked(self) -> bool:
        """Return whether the caller does not read the relayed output; the job is not read until it does."""
        return self.relay is not None and len(self.relay.waiting) > 0

    def drain(self, *, rest: bool = False) -> int:
        """Read what is there, at most one turn's worth; the number of bytes.

        `rest`: no process writes any more, so what is in the pipe is read even if our own reader is blocked. The end of
        the job can then be recorded at once; a pipe's worth waits in memory.
        """
        got = 0
        more = True
        self._until = clock.monotonic() + _LINGER if self._narrow is not None else 0.0
        while more and self.open and (rest or not self.blocked) and got < _TURN:
            count, more = self._fill()
            if count == 0:
                break
            got += count
            data = memoryview(self._buffer.data)[:count]
            self.store.write(data)
            if self.relay is not None:
                self.relay.offer(data)
                if self._shown is not None:
                    self._shown.feed(bytes(data))
            del data  # or the buffer could not be replaced
            if count >= self._full:
                self._notice_flood()
        return got

    def note_answer(self) -> None:
        """Note that what was printed so far asks nothing any more: the caller has answered it."""
        self._answered = self.store.total

    def unanswered(self, size: int) -> bytes:
        """Return the last bytes since the last answer, at most `size`."""
        size = min(size, self.store.total - self._answered)
        return self.store.tail(size) if size else b""

    def _fill(self) -> tuple[int, bool]:
        """Read until the buffer is full or nothing is there: (how much, may there be more)."""
        filled = 0
        with memoryview(self._buffer.data) as buffer:
            while filled < len(buffer):
                try:
                    count = os.readv(self.fd, [buffer[filled:]])
                except BlockingIOError:
                    if filled and self._refills():
                        continue
                    return filled, False
                except OSError:
                    count = 0  # EIO: the other side of a terminal has been closed
                if count == 0:
                    # The descriptor stays until the job is over: a program that closes its terminal just before it
                    # exits would otherwise be hung up on, and die of SIGHUP instead.
                    self.open = False
                    return filled, False
                filled += count
                if count % _PAGE:  # a terminal or a socketpair hands out pages: after those there may be more
                    return filled, False
        return filled, True

    def _refills(self) -> bool:
        """A narrow pipe is empty after every read, until its writer has run: that is waited for, for a moment.

        Storing each read by itself, and another turn of the loop after each, would cost several times as much.
        """
        return self._narrow is not None and clock.monotonic() < self._until and bool(self._narrow.poll(_MOMENT))

    def _notice_flood(self) -> None:
        self._full_reads += 1
        if self._full_reads == _FLOOD:
            self._buffer.grow()
            if F_SETPIPE_SZ is not None:
                try:
                    fcntl.fcntl(self.fd, F_SETPIPE_SZ, _LARGE)
                except OSError:  # a terminal, or the user's share of pages is used up: slower, not wrong
                    self._narrow = select.poll()
                    self._narrow.register(self.fd, select.POLLIN)

    def close(self) -> None:
        """Close our end of the pipe."""
        self.open = False
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class InputStream:
    """What callers `send`, on its way into the job."""

    def __init__(self, fd: int, *, terminal: bool) -> None:
        self.fd = fd
        self.open = True
        self._terminal = terminal
        self._waiting = bytearray()
        self._ending = False
        self._line_open = False  # the last line that was sent has no end yet

    @property
    def waiting(self) -> bool:
        """Return whether bytes wait to be written to the job, or the end of its input does."""
        return self.open and (bool(self._waiting) or self._ending)

    def send(self, data: bytes, *, eof: bool) -> str | None:
        """Queue input; return None, or why it was refused."""
        if not self.open or self._ending:
            return "the job's input is closed"
        if len(self._waiting) + len(data) > INPUT_LIMIT:
            return "the job does not read its input: too much is waiting already"
        self._waiting += data
        if data:
            self._line_open = data[-1] not in b"\r\n\x04"
        if eof and self._terminal:
            # what a person types: the first only hands over a line that is not finished
            self._waiting += b"\x04\x04" if self._line_open else b"\x04"
            self._line_open = False
        elif eof:
            self._ending = True
        self.flush()
        return None

    def flush(self) -> None:
        """Write what the job takes now. After the last byte the stream is closed if the caller has ended it."""
        while self.open and self._waiting:
            try:
                done = os.write(self.fd, self._waiting)
            except BlockingIOError:
                return
            except OSError:
                self.close()
                return
            del self._waiting[:done]
        if self._ending:
            self.close()

    def close(self) -> None:
        """Close the job's input and drop what waits; a second call does nothing."""
        if self.open:
            self.open = False
            self._waiting.clear()
            if not self._terminal:  # the terminal's one descriptor belongs to the output side
                os.close(self.fd)
