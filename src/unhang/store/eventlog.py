"""The single appender of a job's events.

One write a line, so a crash tears at most the last one. A disk that is full must not end the job or make its log
lie: what cannot be written is counted, the half-written rest is cut off again, and the next event that can be
written says how many are missing. `seq` counts what is *recorded*, so there is never a gap.
For the last event some room is kept back (`reserve`), which is given up when it is needed.
"""

from __future__ import annotations

import os

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

RESERVE = 3 * ev.MAX_LINE


class EventLog:
    def __init__(self, path: str, reserve: str, stamp: Callable[[], str], *, seq: int = 0) -> None:
        self.seq = seq
        self.unrecorded = 0
        self._stamp = stamp
        self._reserve = reserve
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def keep_reserve(self) -> None:
        try:
            fd = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return
        try:
            os.posix_fallocate(fd, 0, RESERVE)
        except OSError:
            pass  # no room even for that, or a file system without it: then the end may have to wait for room
        finally:
            os.close(fd)

    def append(self, event: ev.Event) -> ev.Event | None:
        """Number, stamp and write it. None: it could not be written (and is counted)."""
        if self.unrecorded and event.get("type") != ev.STORE:
            missing = self.unrecorded
            self.unrecorded = 0
            note = ev.store(f"{missing} events could not be recorded: the disk was full", missing=missing)
            if self.append(note) is None:
                self.unrecorded = missing
        numbered = {"seq": self.seq + 1, "ts": self._stamp()} | event
        if self.seq == 0:
            numbered["v"] = ev.FORMAT
        if not self._write(ev.to_line(numbered)):
            if event.get("type") != ev.STORE:
                self.unrecorded += 1
            return None
        self.seq += 1
        return numbered

    def append_last(self, event: ev.Event) -> ev.Event | None:
        """The end of the job: gives up the reserve if need be, and is on the disk when this returns."""
        written = self.append(event)
        self.drop_reserve()
        if written is None:
            written = self.append(event)
        try:
            os.fdatasync(self._fd)
        except OSError:
            pass  # a file system that cannot: nothing better is to be had
        return written

    def _write(self, line: bytes) -> bool:
        try:
            done = os.write(self._fd, line)
        except OSError:
            return False
        if done == len(line):
            self._size += done
            return True
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            pass  # a torn line is what readers expect after a crash, and recovery repairs
        return False

    def drop_reserve(self) -> None:
        try:
            os.unlink(self._reserve)
        except OSError:
            pass

    def close(self) -> None:
        os.close(self._fd)
