"""The writing ends of a proxy: they never block, keep what was not read, and report when that is too much."""

from __future__ import annotations

import os
import stat as modes
from _socket import MSG_DONTWAIT, socket

from unhang.procs.descriptors import reopen_for_writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# With more than this waiting, the proxy stops reading the other side, whose writer then blocks as at a full pipe.
ENOUGH = 1 << 20


class Sink:
    """`own`: a pipe of this process alone. A parent's descriptors are shared, so their flags are not changed."""

    def __init__(self, fd: int, *, own: bool) -> None:
        self.fd = fd
        self.waiting = bytearray()
        self.broken = False  # the reader has gone away
        self._held: socket | None = None
        self._put: Callable[[memoryview | bytes], int] = self._write
        mode = os.fstat(fd).st_mode
        if modes.S_ISSOCK(mode):
            self._held = socket(fileno=os.dup(fd))
            self._put = self._send
        elif own:
            os.set_blocking(fd, False)
        elif not modes.S_ISREG(mode):
            try:
                self.fd = reopen_for_writing(fd)
            except OSError:
                pass  # a terminal of another user: it stays blocking, as for every other program

    @property
    def full(self) -> bool:
        """Return whether so much waits to be read that the other side must not be read for now."""
        return len(self.waiting) > ENOUGH and not self.broken

    def offer(self, data: bytes) -> None:
        """Write what can be written now, and keep the rest; without a reader, drop it."""
        if self.broken:
            return
        if not self.waiting:
            done = self._some(data)
            if done == len(data):
                return
            data = data[done:]
        self.waiting += data

    def flush(self) -> None:
        """Write what was kept, as far as possible without waiting."""
        if self.waiting and not self.broken:
            with memoryview(self.waiting) as view:
                done = self._some(view)
            del self.waiting[:done]

    def _some(self, data: memoryview | bytes) -> int:
        done = 0
        try:
            while done < len(data):
                done += self._put(data[done:] if done else data)
        except BlockingIOError:
            pass
        except OSError:  # EPIPE and its kin
            self.broken = True
            return len(data)
        return done

    def _write(self, data: memoryview | bytes) -> int:
        return os.write(self.fd, data)

    def _send(self, data: memoryview | bytes) -> int:
        assert self._held is not None
        return self._held.send(data, MSG_DONTWAIT)

    def close(self) -> None:
        """Close the descriptor, and drop what was kept."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self._held is not None:
            self._held.close()
        self.broken = True
        self.waiting.clear()
