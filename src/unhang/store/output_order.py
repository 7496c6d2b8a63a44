"""In which order a job printed on its two streams: one line for every change from one stream to the other.

A line says which stream was left, how many bytes of it had been read by then, and when the last of them were read (in
milliseconds since 1970). A job that prints on one stream only has no such file. It is bounded: behind its last line the
order is not known, and a reader takes one stream after the other.
"""

from __future__ import annotations

import os

from unhang.core.record import Record
from unhang.errors import StateError
from unhang.store import files

_LETTERS = {"stdout": "o", "stderr": "e"}
_NAMES = {letter.encode(): name for name, letter in _LETTERS.items()}
MOST = 1 << 20
_LONGEST = 64  # of a line


class Turn(Record):
    """A stretch of one stream: it goes up to byte `end`, which was read at `at` (seconds since 1970)."""

    stream: str
    end: int
    at: float


class OrderWriter:
    """Notes the changes between the streams of one job. A full disk costs the order, never the job."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._written = 0
        self._speaker = ""
        self._end = 0
        self._at = 0.0

    def note(self, stream: str, total: int, at: float) -> None:
        """Note that `total` bytes of this stream have been read, the last of them now."""
        if self._speaker and stream != self._speaker:
            self._write(f"{_LETTERS.get(self._speaker, '?')} {self._end} {round(self._at * 1000)}\n".encode())
        self._speaker, self._end, self._at = stream, total, at

    def _write(self, line: bytes) -> None:
        if self._written + len(line) > MOST:
            return
        try:
            if self._fd < 0:
                self._fd = files.open_plain(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            self._written += os.write(self._fd, line)
        except (OSError, StateError):
            self._written = MOST  # half a line may be there: nothing may follow it


class OrderReader:
    """Reads the turns that are new since the last call; lines that are none are passed over."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0

    def new(self) -> list[Turn]:
        """Return the turns that were noted since the last call."""
        try:
            fd = files.open_plain(self._path, os.O_RDONLY)
        except (OSError, StateError):
            return []
        try:
            data = os.pread(fd, 2 * MOST, self._at)
        except OSError:
            return []
        finally:
            os.close(fd)
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return [turn for line in whole.splitlines() if (turn := _turn(line)) is not None]


def _turn(line: bytes) -> Turn | None:
    words = line.split()
    if len(line) > _LONGEST or len(words) != 3 or words[0] not in _NAMES:
        return None
    if not (words[1].isdigit() and words[2].isdigit()):
        return None
    return Turn(_NAMES[words[0]], int(words[1]), int(words[2]) / 1000)
