"""The single appender of a job's events.

One write a line, so a crash tears at most the last one. A disk that is full must not end the job or make its log
lie: what cannot be written is counted, the half-written rest is cut off again, and the next event that can be
written says how many are missing. `seq` counts what is *recorded*, so there is never a gap.

Room for the last event is always kept: blocks beyond the end of the file are allocated ahead (the size does not
change), and an ordinary event that would eat into the last of them is refused instead. A disk without that much room
is found full when the log is opened, before anything has been started.

A keeper *begins* its log: the file must not be there yet (`begin`). A keeper that was slow to be born finds the end
that was recorded in its absence, and leaves the job alone. While it writes it holds the claim on the log (claim.py).
"""

from __future__ import annotations

import errno
import os

from unhang.core import events as ev
from unhang.errors import StateError
from unhang.store import claim, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# what is kept for the end: the last event, and the note about what could not be recorded
RESERVE = 2 * ev.MAX_LINE
AHEAD = 8 * ev.MAX_LINE


class AlreadyRecorded(StateError):
    """The log of a new job is there already: the job was given up before its keeper came."""


class EventLog:
    """`allocate(fd, offset, length)` reserves blocks without changing the size, or raises OSError.

    `begin`: this is the first writer ever (raises AlreadyRecorded if it is not), and the one that holds the claim.
    `fd`: of the new file, where it is open already.
    """

    def __init__(
        self,
        path: str,
        stamp: Callable[[], str],
        *,
        seq: int = 0,
        begin: bool = False,
        allocate: Callable[[int, int, int], None] | None = None,
        fd: int | None = None,
    ) -> None:
        self.seq = seq
        self.unrecorded = 0
        self._stamp = stamp
        self._allocate = allocate
        self._allocated: float = 0
        self._fd = _begun(path, fd) if begin else files.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._size = os.fstat(self._fd).st_size
        if not self._has_room(0, last=False):
            self.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def _has_room(self, length: int, *, last: bool) -> bool:
        needed = self._size + length + (0 if last else RESERVE)
        if self._allocate is None or needed <= self._allocated:
            return True
        try:
            self._allocate(self._fd, self._size, AHEAD)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return last  # the end is tried in any case
            self._allocated = float("inf")  # a file system that cannot: do without
            return True
        self._allocated = self._size + AHEAD
        return True

    def append(self, event: ev.Event, *, last: bool = False) -> ev.Event | None:
        """Number, stamp and write an event. None: it could not be written (and is counted)."""
        batch = [event]
        if self.unrecorded and event.get("type") != ev.STORE:
            missing = self.unrecorded
            batch.insert(0, ev.store(f"{missing} events could not be recorded: the disk was full", missing=missing))
        numbered = [self._numbered(each, self.seq + place) for place, each in enumerate(batch, 1)]
        lines = [ev.to_line(each) for each in numbered]
        # the note is only worth its bytes if the event fits behind it
        written = self._has_room(sum(map(len, lines)), last=last) and all(map(self._write, lines))
        if not written:
            self.unrecorded += event.get("type") != ev.STORE
            return None
        self.unrecorded = 0
        return numbered[-1]

    def _numbered(self, event: ev.Event, seq: int) -> ev.Event:
        return {"seq": seq, "ts": self._stamp()} | event | ({"v": ev.FORMAT} if seq == 1 else {})

    def append_last(self, event: ev.Event) -> ev.Event | None:
        """Append the end of the job; it is on the disk when this returns."""
        written = self.append(event, last=True)
        self.sync()
        return written

    def give_back(self) -> None:
        """Give back the blocks that were allocated ahead: after the end, for which no caller shall wait longer."""
        if self._allocated:
            self._cut(0)

    def sync(self) -> None:
        """Bring what was appended to the disk before this returns, as far as the file system can."""
        try:
            os.fdatasync(self._fd)
        except OSError:
            pass  # a file system that cannot: nothing better is to be had

    def _write(self, line: bytes) -> bool:
        """One event; a part of one is taken back."""
        try:
            done = os.write(self._fd, line)
        except OSError:
            return False
        if done == len(line):
            self._size += done
            self.seq += 1
            return True
        self._cut(done)  # what stays torn is what readers expect after a crash, and recovery repairs
        return False

    def _cut(self, length: int) -> None:
        """Take so many bytes from the end. It is asked where that is: the job can write to this file, too."""
        try:
            os.ftruncate(self._fd, max(0, os.fstat(self._fd).st_size - length))
        except OSError:
            pass

    def close(self) -> None:
        """Close the file; nothing can be appended afterwards."""
        os.close(self._fd)


def _begun(path: str, fd: int | None) -> int:
    try:
        fd = fd if fd is not None else files.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        raise AlreadyRecorded("it was recorded as lost before its keeper could start it") from None
    if claim.take(fd):
        return fd
    os.close(fd)
    raise AlreadyRecorded("it is being recorded as lost, since its keeper was slow to start it")
