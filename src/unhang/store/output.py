"""What a job printed, bounded on disk whatever the volume: the first part and the last part are both kept.

While the job runs, `stdout` holds the first bytes (half of the budget); what follows goes to segments named after
the position of their first byte (`stdout.4194304`), the oldest of which are deleted as new ones come. Position and
length of every byte on disk are therefore plain to see at any moment: nothing needs repair after a crash, and a
reader follows by position without asking anybody. When the job has ended, the segments are joined to `stdout`,
with a line between that says how much is left out.

A disk that is full costs bytes, not the job: what could not be stored is counted and named.
"""

from __future__ import annotations

import os

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BUDGET = 8 << 20
TAIL = 64 << 10
_SEGMENTS = 4


def gap_line(count: int) -> bytes:
    return b"\n[unhang: %d bytes left out here]\n" % count


class OutputStore:
    """One stream's writer. `budget` bounds the disk; the last 64 KiB are also in memory."""

    def __init__(self, path: str, budget: int = BUDGET) -> None:
        self.total = 0
        self.unstored = 0
        self._path = path
        self._head = max(1, budget // 2)
        self._segment = max(1, (budget - self._head) // _SEGMENTS)
        self._fd = -1
        self._room = self._head
        self._segments: list[int] = []  # positions, oldest first
        self._recent: list[bytes] = []
        self._recent_size = 0
        try:
            self._fd = _create(path)
        except OSError:
            self._abandon()

    def write(self, data: memoryview) -> None:
        self._remember(data)
        while data:
            if self._room == 0:
                self._next_segment()
            part = data[: self._room]
            self._store(part)
            self.total += len(part)
            self._room -= len(part)
            data = data[len(part) :]

    def _store(self, part: memoryview) -> None:
        while part:
            try:
                done = os.write(self._fd, part) if self._fd >= 0 else 0
            except OSError:
                done = 0
            if done == 0:
                self.unstored += len(part)
                # position = name + length must stay true: a segment with a hole ends here
                self._abandon()
                return
            part = part[done:]

    def _abandon(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._room = min(self._room, 1 << 16)  # try again soon: somebody may make room

    def _next_segment(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        while len(self._segments) >= _SEGMENTS:
            self._unlink(self._segments.pop(0))
        self._segments.append(self.total)
        self._room = self._segment
        try:
            self._fd = _create(f"{self._path}.{self.total}")
        except OSError:
            self._fd = -1
            self._room = 1 << 16

    def _unlink(self, position: int) -> None:
        try:
            os.unlink(f"{self._path}.{position}")
        except OSError:
            pass

    def _remember(self, data: memoryview) -> None:
        self._recent.append(bytes(data[-TAIL:]))
        self._recent_size += len(self._recent[-1])
        if self._recent_size > 2 * TAIL or len(self._recent) > 256:
            joined = b"".join(self._recent)[-TAIL:]
            self._recent = [joined]
            self._recent_size = len(joined)

    def tail(self, size: int = TAIL) -> bytes:
        return b"".join(self._recent)[-size:]

    def finish(self) -> None:
        """Join the segments to the first part."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._segments:
            join(self._path, self.total)
            self._segments = []


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


class Piece(Record):
    """Bytes `position` … of the stream are in file `path`, from byte `skip` of it on."""

    position: int
    length: int
    path: str
    skip: int = 0


def pieces(path: str) -> list[Piece]:
    """What of a running job's stream is on disk, in order."""
    found: list[Piece] = []
    folder, name = os.path.split(path)
    try:
        entries = os.listdir(folder)
        found.append(Piece(0, os.stat(path).st_size, path))
    except OSError:
        return found
    for entry in entries:
        stem, _, position = entry.rpartition(".")
        if stem == name and position.isdigit():
            try:
                found.append(Piece(int(position), os.stat(f"{folder}/{entry}").st_size, f"{folder}/{entry}"))
            except OSError:
                continue  # rotated away between the two calls
    return sorted(found, key=lambda piece: piece.position)


def join(path: str, total: int | None = None) -> None:
    """Append the segments to the first part, with a line for every gap; also used by recovery."""
    parts = pieces(path)
    if len(parts) < 2:
        return
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        at = parts[0].length
        for piece in parts[1:]:
            if piece.position > at:
                _write_all(out, gap_line(piece.position - at))
            for chunk in _chunks(piece.path):
                _write_all(out, chunk)
            at = piece.position + piece.length
        if total is not None and total > at:
            _write_all(out, gap_line(total - at))
    finally:
        os.close(out)
    for piece in parts[1:]:
        try:
            os.unlink(piece.path)
        except OSError:
            pass


def _chunks(path: str) -> Iterator[bytes]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        while chunk := os.read(fd, 1 << 20):
            yield chunk
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except OSError:
            return  # full disk: the beginning is there, the rest is lost and counted elsewhere


def kept(path: str) -> tuple[bytes, bool]:
    """Everything that is on disk of a stream, joined, and whether anything is missing in between."""
    out: list[bytes] = []
    at = 0
    gap = False
    for piece in pieces(path):
        if piece.position > at:
            gap = True
            out.append(gap_line(piece.position - at))
        data = b"".join(_chunks(piece.path))
        out.append(data)
        at = piece.position + len(data)
    return b"".join(out), gap
