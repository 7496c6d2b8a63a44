"""What is known about the sessions of an interactive agent: `sessions/<sessionId>/events.ndjson`, one stream a session.

The form is that of a job's events (one JSON object a line, at most 4 KiB, `seq` without a gap), but the writers are
many and short-lived: every hook of the agent is a process of its own, and the watcher writes between them. So a
writer holds a lock on the file for the moment it takes to look up the last number, cut off a torn line (its writer was
killed in the middle, or out of disk), and write one line.

A hook may never make its agent wait, and no event may be lost: where a lock is not free in time (its owner was
stopped), a copy takes the place of the file, and the owner, should it ever go on, finds that and writes its line there.
A link, a pipe or a folder in the place of the stream is an error. A line that is no event of ours costs itself alone.
"""

from __future__ import annotations

import errno
import os
import time

from unhang.core import events as ev
from unhang.errors import StateError
from unhang.store import files
from unhang.store import home as homes
from unhang.store.file_lock import try_lock
from unhang.store.reader import last_event, lines_from_the_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SESSIONS = "sessions"
_EVENTS = "events.ndjson"
# A writer holds the lock for well under a millisecond.
PATIENCE = 1.0
_CHUNK = 1 << 16
# How far back the last event of a stream is looked for: another program has written so much behind it at most.
_FAR = 4 << 20


def is_session_id(text: str) -> bool:
    """Return whether it is a word of letters, digits and dashes: it becomes the name of a directory."""
    return 0 < len(text) <= 64 and text[0] != "-" and all(c.isascii() and (c.isalnum() or c == "-") for c in text)


def session_ids(home: str | None = None) -> list[str]:
    """Return every session that has a stream (links and strays are passed over)."""
    home = home or homes.locate(os.environ)
    folder = f"{home}/{SESSIONS}"
    try:
        homes.trust(home)
        homes.trust(folder)
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if is_session_id(e.name) and e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"cannot list {folder}: {error.strerror}") from None


class SessionLog:
    """One session's stream, to append to and to read from a cursor of its own. Holds no descriptor between calls."""

    def __init__(self, session_id: str, home: str | None = None) -> None:
        if not is_session_id(session_id):
            raise StateError(f"not a session id: {session_id!r}")
        self.session_id = session_id
        self.home = home or homes.locate(os.environ)
        self.folder = f"{self.home}/{SESSIONS}/{session_id}"
        self.path = f"{self.folder}/{_EVENTS}"
        self._file = (0, 0)  # device and inode of the file that the cursor is in
        self._position = 0  # the byte behind the last whole line that was read
        self._seq = 0  # its number
        self._skips = False  # the cursor is in the middle of a line that is too long to be an event

    # --- writing --------------------------------------------------------------------------------------------

    def append(self, event: dict[str, Any]) -> int:
        """Number, stamp and write an event, and return its `seq`.

        OSError: it could not be written, and nothing of it was.
        """
        for folder in (self.home, f"{self.home}/{SESSIONS}", self.folder):
            homes.make(folder)
        seq, lost = self._append(event)
        return seq if lost is None else self._append(event, *lost)[0]

    def _append(
        self, event: dict[str, Any], place: int = 0, written: bytes = b""
    ) -> tuple[int, tuple[int, bytes] | None]:
        """Its `seq`; and, if another file has taken the place of ours meanwhile, where the line stood and the line.

        A line that the other file has at that place was copied, and is not written twice.
        """
        fd = self._locked()
        try:
            if written and os.pread(fd, len(written), place) == written:
                return int((ev.from_line(written) or {"seq": 0})["seq"]), None
            last, size = _last_of(fd)
            seq = last + 1
            numbered = {"seq": seq, "ts": _now()} | event | {"seq": seq} | ({"v": ev.FORMAT} if seq == 1 else {})
            line = ev.to_line(numbered)
            done = 0
            try:
                done = os.write(fd, line)
            finally:
                if done != len(line):
                    os.ftruncate(fd, size)
            if done != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
            return seq, (size, line) if self._is_replaced(fd) else None
        finally:
            os.close(fd)  # and the lock with it

    def _locked(self) -> int:
        """The file, ours alone. Opened again if it was removed (`unhang gc`) while we waited."""
        deadline = time.monotonic() + PATIENCE
        while True:
            fd = files.open_plain(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                while not try_lock(fd):
                    if time.monotonic() > deadline:
                        copy = self._copy()
                        if copy >= 0:
                            os.close(fd)
                            return copy
                        if time.monotonic() > deadline + PATIENCE:
                            raise TimeoutError(errno.ETIMEDOUT, "another writer holds the lock", self.path)
                        time.sleep(0.01)
                        break
                    time.sleep(0.001)
                else:
                    if os.fstat(fd).st_nlink:
                        return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
            homes.make(self.folder)

    def _copy(self) -> int:
        """A copy, locked, in the place of a file whose lock is not given back; -1: another writer has just made one."""
        place = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        temporary = f"{self.path}.{os.urandom(4).hex()}.new"
        fd = -1
        try:
            if not try_lock(place):
                return -1
            old = files.open_plain(self.path, os.O_RDONLY)
            try:
                if try_lock(old):  # given back, or replaced, in this very moment
                    return -1
                fd = files.open_plain(temporary, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
                try_lock(fd)
                _pass_on(old, fd)
                os.rename(temporary, self.path)
                _pass_on(old, fd)  # what its owner wrote until then; what it writes later it writes again
            finally:
                os.close(old)
            return fd
        except BaseException:
            if fd >= 0:
                os.close(fd)
                if os.path.lexists(temporary):
                    os.unlink(temporary)
            raise
        finally:
            os.close(place)

    def _is_replaced(self, fd: int) -> bool:
        """Whether a copy stands in the place of the file that was written to (and not nothing: it was removed)."""
        try:
            ours, found = os.fstat(fd), os.lstat(self.path)
        except OSError:
            return False
        return (ours.st_dev, ours.st_ino) != (found.st_dev, found.st_ino)

    def remove(self) -> bool:
        """Remove the whole stream; return False if another process writes to it just now, or it cannot be removed."""
        from unhang.store.removal import remove_tree

        fd = -1
        try:
            homes.trust(self.folder)
            try:
                fd = files.open_plain(self.path, os.O_RDONLY | os.O_CREAT)
            except StateError:
                pass  # no stream at all stands there, so no writer of ours can hold its lock
            if fd >= 0 and not try_lock(fd):
                return False
            return remove_tree(self.folder)
        except (OSError, StateError):
            return False
        finally:
            if fd >= 0:
                os.close(fd)

    # --- reading --------------------------------------------------------------------------------------------

    def read(self, after_seq: int = 0) -> list[dict[str, Any]]:
        """Return every whole event after `after_seq`. Costs what is new, as long as the cursor only moves forward."""
        return list(self.events(after_seq))

    def events(self, after_seq: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the same, one at a time: a stream may be long."""
        if after_seq < self._seq:
            self._file, self._seq = (0, 0), 0
        for event in self.news():
            if event["seq"] > after_seq:
                yield event

    def news(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield every whole event behind the cursor, whatever its number.

        `most`: of a long stream only its last bytes.
        """
        try:
            fd = files.open_plain(self.path, os.O_RDONLY)
        except FileNotFoundError:
            self._file, self._seq = (0, 0), 0  # whatever comes next is another one, also if it gets the same inode
            return
        try:
            found = os.fstat(fd)
            file = (found.st_dev, found.st_ino)
            if file != self._file and self._is_copy(fd, found.st_size):
                self._file = file
            if file != self._file or found.st_size < self._position:
                self._file, self._position, self._seq, self._skips = file, 0, 0, False
                if most is not None and found.st_size > most:
                    self._position, self._skips = found.st_size - most, True
            yield from self._read_on(fd)
        finally:
            os.close(fd)

    def _is_copy(self, fd: int, size: int) -> bool:
        """Whether the last event that was read stands at the same place of this file: then it is read on from there."""
        if not self._seq or self._skips or size < self._position:
            return False
        for start, end in lines_from_the_end(fd, self._position, max(0, self._position - _CHUNK)):
            event = ev.from_line(os.pread(fd, end - start, start))
            return event is not None and event["seq"] == self._seq
        return False

    def _read_on(self, fd: int) -> Iterator[dict[str, Any]]:
        while chunk := os.pread(fd, _CHUNK, self._position):
            end = chunk.rfind(b"\n") + 1
            if not end and len(chunk) < _CHUNK:
                return  # a line that is being written
            lines = chunk[:end].splitlines()
            if self._skips and lines:
                del lines[0]
            self._skips = not end
            self._position += end or len(chunk)
            for line in lines:
                event = ev.from_line(line)
                if event is not None:
                    self._seq = event["seq"]
                    yield event

    def last(self, kind: str) -> dict[str, Any] | None:
        """Return the newest event of one type, if it is among the last of the stream."""
        return last_event(self.path, kind, _CHUNK)


def _pass_on(old: int, new: int) -> None:
    """Copy what is left to read of one file to the end of the other."""
    while chunk := os.read(old, _CHUNK):
        if os.write(new, chunk) != len(chunk):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _last_of(fd: int) -> tuple[int, int]:
    """The number of the last event and the size, after a torn last line has been cut off."""
    size = os.fstat(fd).st_size
    whole = _whole(fd, size)
    for start, end in lines_from_the_end(fd, whole, max(0, whole - _FAR)):
        event = ev.from_line(os.pread(fd, end - start, start))
        if event is not None:
            break
    else:
        if whole > _FAR:
            raise StateError("refused: the stream was filled by another program")
        event = {"seq": 0}
    if whole < size:
        os.ftruncate(fd, whole)
    return event["seq"], whole


def _whole(fd: int, size: int) -> int:
    """Where the last whole line ends."""
    at = size
    while at > max(0, size - _FAR):
        start = max(0, at - _CHUNK)
        newline = os.pread(fd, at - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        at = start
    if at > 0:
        raise StateError("refused: the stream was filled by another program")
    return 0


def _now() -> str:
    """RFC 3339, UTC, milliseconds, as in every log. (procs.clock is beside this layer, not below it.)"""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
