"""What is known about the sessions of an interactive agent: `sessions/<sessionId>/events.ndjson`, one stream a session.

The form is that of a job's events (one JSON object a line, at most 4 KiB, `seq` without a gap), but the writers are
many and short-lived: every hook of the agent is a process of its own, and the watcher writes between them. So whoever
appends holds a lock on the file for the moment it takes to look up the last number, cut off a line that somebody tore
(killed in the middle, or out of disk), and write one line.

A hook may never make its agent wait: a lock that is not free in time (its owner was stopped) is an error, not a wait.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time

from unhang.core import events as ev
from unhang.errors import StateError
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SESSIONS = "sessions"
HOOK, WATCH = "hook", "watch"  # the types of its events
_EVENTS = "events.ndjson"
# A writer holds the lock for well under a millisecond.
PATIENCE = 1.0
_CHUNK = 1 << 16


def is_session_id(text: str) -> bool:
    """A word of letters, digits and dashes: it becomes the name of a directory."""
    return 0 < len(text) <= 64 and text[0] != "-" and all(c.isascii() and (c.isalnum() or c == "-") for c in text)


def session_ids(home: str | None = None) -> list[str]:
    """Every session that has a stream (links and strays are passed over)."""
    home = home or homes.locate(os.environ)
    folder = f"{home}/{SESSIONS}"
    try:
        homes.trust(home)
        homes.trust(folder)
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if is_session_id(e.name) and e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


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

    # --- writing --------------------------------------------------------------------------------------------

    def append(self, event: dict[str, Any]) -> int:
        """Number, stamp and write it; its `seq`. OSError: it could not be written, and nothing of it was."""
        for folder in (self.home, f"{self.home}/{SESSIONS}", self.folder):
            homes.make(folder)
        fd = self._locked()
        try:
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
            return seq
        finally:
            os.close(fd)  # and the lock with it

    def _locked(self) -> int:
        """The file, ours alone. Opened again if it was removed (`unhang gc`) while we waited."""
        deadline = time.monotonic() + PATIENCE
        while True:
            fd = homes.open_private(self.path, os.O_RDWR | os.O_APPEND)
            try:
                while not _locks(fd):
                    if time.monotonic() > deadline:
                        raise TimeoutError(errno.ETIMEDOUT, "another writer holds the lock", self.path)
                    time.sleep(0.001)
                if os.fstat(fd).st_nlink:
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
            homes.make(self.folder)

    def remove(self) -> bool:
        """The whole stream. False: somebody writes to it just now, or it cannot be removed."""
        try:
            homes.trust(self.folder)
            fd = os.open(self.path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except (OSError, StateError):
            return False
        try:
            if not _locks(fd):
                return False
            for name in os.listdir(self.folder):  # flat and ours, so nothing is followed anywhere
                os.unlink(f"{self.folder}/{name}")
            os.rmdir(self.folder)
        except OSError:
            return False
        finally:
            os.close(fd)
        return True

    # --- reading --------------------------------------------------------------------------------------------

    def read(self, after_seq: int = 0) -> list[dict[str, Any]]:
        """Every whole event after `after_seq`. Costs what is new, as long as the cursor only moves forward."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._file = (0, 0)  # whatever comes next is another one, also if it gets the same inode
            return []
        try:
            found = os.fstat(fd)
            file = (found.st_dev, found.st_ino)
            if file != self._file or after_seq < self._seq or found.st_size < self._position:
                self._file, self._position, self._seq = file, 0, 0
            return self._read_on(fd, after_seq)
        finally:
            os.close(fd)

    def _read_on(self, fd: int, after_seq: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        while True:
            chunk = os.pread(fd, _CHUNK, self._position)
            end = chunk.rfind(b"\n") + 1
            if not end:  # nothing new, or a line that is being written; whole lines are far shorter than a chunk
                return events
            for line in chunk[:end].splitlines():
                event = ev.from_line(line)
                if event is None:
                    continue
                self._seq = event["seq"]
                if self._seq > after_seq:
                    events.append(event)
            self._position += end


def _locks(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _last_of(fd: int) -> tuple[int, int]:
    """The number of the last event and the size, after a torn last line has been cut off."""
    size = os.fstat(fd).st_size
    span = 2 * ev.MAX_LINE
    while True:
        start = max(0, size - span)
        data = os.pread(fd, size - start, start)
        whole = data.rfind(b"\n") + 1
        seq = next((event["seq"] for line in reversed(data[:whole].split(b"\n")) if (event := ev.from_line(line))), 0)
        if seq or start == 0:
            if whole < len(data):
                os.ftruncate(fd, start + whole)
            return seq, start + whole
        span *= 16  # nothing of ours in there: somebody else wrote into it. Look further back.


def _now() -> str:
    """RFC 3339, UTC, milliseconds, as in every log. (procs.clock is beside this layer, not below it.)"""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
