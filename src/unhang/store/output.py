"""What a job printed, bounded on disk whatever the volume: the first part and the last part are both kept.

While the job runs, `stdout` holds the first bytes (half of the budget) and `stdout.tail` the last ones, as a ring: a
page with three numbers (the stream position of the ring's first byte, of the end, and of what is safe), then the ring.
It is overwritten in place, which costs a flood less than a pipe does. When the job has ended, the ring is unrolled
behind the first part, with a line between that says how much is left out, and one plain file remains.

The first two numbers are written after the bytes. A reader who comes in between, or after a crash of the writer in
between, could take new bytes for the oldest ones; so a quarter of the ring, the part that may be being overwritten, is
never read from.

A power cut is another matter: the kernel brings the pages of a file to the disk in whatever order, and a flood rewrites
the ring many times while it does. What a cut leaves would then be a mixture that the job has never printed. So the
third number says up to which position the ring was brought to the disk whole, and is taken back (durably, before the
bytes) when a flood goes on to overwrite more than that quarter. After a cut, only what is safe is read.

A disk that is full costs bytes, not the job: what could not be stored is counted and named.
"""

from __future__ import annotations

import _thread
import os
import stat as modes

from unhang.core.record import Record
from unhang.core.spec import LARGEST_BUDGET
from unhang.errors import StateError
from unhang.store import files

BUDGET = 8 << 20
TAIL = 64 << 10
_HEADER = 4096
_NUMBER = 8
# how often a full disk is tried again, in bytes of output
_RETRY = 1 << 20
_CHUNK = 1 << 20
# What a joined file has beside the bytes that are kept: a line for what is missing, and the last words of a pipe.
_BESIDE = 2 << 20


def gap_line(count: int) -> bytes:
    """Return the line that stands in the output where bytes were left out."""
    return b"\n[unhang: %d bytes left out here]\n" % count


def ring_path(path: str) -> str:
    """Return the file that holds the last part of this stream while the job runs."""
    return f"{path}.tail"


class OutputStore:
    """One stream's writer. `budget` bounds the disk; the last 64 KiB are also in memory."""

    def __init__(self, path: str, budget: int = BUDGET) -> None:
        self.total = 0
        self.unstored = 0
        self._path = path
        self._head = max(1, budget // 2)
        self._ring = _Ring(ring_path(path), max(4, budget - self._head))
        self._fd = -1
        self._recent: list[bytes] = []
        self._recent_size = 0
        try:
            self._fd = files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except (OSError, StateError):
            pass  # no room even for a name, or the job put another thing there: the ring may have more luck later

    def write(self, data: memoryview) -> None:
        """Keep the next bytes of the stream. A full disk never raises: what was not stored is counted in `unstored`."""
        self._remember(data)
        if self._fd >= 0:
            data = self._write_head(data)
        if data:
            self.unstored += self._ring.write(data, self.total)
            self.total += len(data)

    def _write_head(self, data: memoryview) -> memoryview:
        """What does not belong there any more."""
        part = data[: self._head - self.total]
        while part:
            try:
                done = os.write(self._fd, part)
            except OSError:
                self._close_head()
                return data
            part, data = part[done:], data[done:]
            self.total += done
        if self.total >= self._head:
            self._close_head()
        return data

    def _close_head(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def sync(self) -> None:
        """Make what was printed so far survive a power cut once this returns; for a thread beside the writer's."""
        files.sync_path(self._path)  # first: while the ring is safe, what stands before it is
        if self._ring.used:
            self._ring.sync()

    def _remember(self, data: memoryview) -> None:
        if len(data) >= TAIL:  # a flood: what came before it does not matter, and joining would copy it again
            self._recent = [bytes(data[-TAIL:])]
            self._recent_size = TAIL
            return
        self._recent.append(bytes(data))
        self._recent_size += len(data)
        if self._recent_size > 2 * TAIL or len(self._recent) > 256:
            joined = b"".join(self._recent)[-TAIL:]
            self._recent = [joined]
            self._recent_size = len(joined)

    def tail(self, size: int = TAIL) -> bytes:
        """Return the last bytes of the stream, at most `size` (and at most 64 KiB), from memory."""
        return b"".join(self._recent)[-size:]

    def finish(self, *, durable: bool = False) -> None:
        """Make one plain file of the two parts. `durable`: a power cut must not take what the ring has kept so far."""
        self._close_head()
        if self._ring.used:
            self._ring.close()
            try:
                _join(self._path, pieces(self._path, exact=True), self.total, durable=durable)
            except StateError:
                pass  # a link was put in its place: readers refuse it, and the end of the job must be recorded


class _Ring:
    def __init__(self, path: str, size: int) -> None:
        self.used = False
        self._path = path
        self._size = size
        self._fd = -1
        self._start = 0
        self._retry_at = 0
        self._reach = 0  # no byte of a later position is in the ring or on its way there
        self._safe = 0  # the lowest position that the disk may call safe; 0: it calls nothing so
        self._lock = _thread.allocate_lock()  # the third number is written by the keeper and by the thread that syncs

    def write(self, data: memoryview, position: int) -> int:
        """Return the number of bytes that could not be stored; the first of `data` is byte `position` of the stream."""
        if self._fd < 0 and not self._open(position):
            return len(data)
        lost = 0
        while data:
            # the part that readers avoid bounds what may be written before the numbers are
            part = data[: max(1, self._size // 4)]
            at = (position - self._start) % self._size
            part = part[: self._size - at]
            self._reach = position + len(part)
            try:
                if self._safe and self._reach - self._safe > self._size // 4:
                    self._take_back()
                done = os.pwrite(self._fd, part, _HEADER + at)
                os.pwrite(self._fd, (position + done).to_bytes(_NUMBER, "little"), _NUMBER)
            except OSError:
                done = len(part)
                lost += done
            position += done
            data = data[done:]
        return lost

    def _open(self, position: int) -> bool:
        if self.used or position < self._retry_at:
            return False
        try:
            fd = files.open_plain(self._path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        except (OSError, StateError):
            self._retry_at = position + _RETRY
            return False
        try:
            os.posix_fallocate(fd, 0, _HEADER + self._size)  # all of it now: later there may be no room
            os.pwrite(fd, position.to_bytes(_NUMBER, "little") * 2, 0)
        except OSError:
            os.close(fd)
            os.unlink(self._path)
            self._retry_at = position + _RETRY
            return False
        self._fd, self._start, self.used = fd, position, True
        return True

    def _take_back(self) -> None:
        """Nothing is safe any more; on the disk before anything is overwritten that was."""
        with self._lock:
            os.pwrite(self._fd, bytes(_NUMBER), 2 * _NUMBER)
            self._safe = 0
        files.sync(self._fd)

    def sync(self) -> None:
        """Bring it to the disk, and say so there, unless it was overwritten too fast meanwhile."""
        try:
            fd = files.open_plain(self._path, os.O_RDWR)
        except (OSError, StateError):
            return  # joined and gone
        try:
            end = int.from_bytes(os.pread(fd, _NUMBER, _NUMBER), "little")
            files.sync(fd)
            if self._declare_safe(fd, end):
                files.sync(fd)
                self._safe = end  # the disk has forgotten what it held before
        except OSError:
            pass
        finally:
            os.close(fd)

    def _declare_safe(self, fd: int, position: int) -> bool:
        with self._lock:
            before = self._safe
            # First said, then looked: a writer does it the other way round, so one of the two sees the other.
            self._safe = before or position
            if self._reach - self._safe > self._size // 4:
                self._safe = before
                return False
            os.pwrite(fd, position.to_bytes(_NUMBER, "little"), 2 * _NUMBER)
            return True

    def close(self) -> None:
        os.close(self._fd)
        self._fd = -1


class OutputPiece(Record):
    """Bytes `position` … of the stream are in file `path`, from byte `skip` of it on."""

    position: int
    length: int
    path: str
    skip: int = 0


def pieces(path: str, *, exact: bool = False, cut: bool = False) -> list[OutputPiece]:
    """Return what of a stream is on disk, in order.

    `exact`: no process writes and none crashed, so the whole ring counts. `cut`: the machine crashed under its writer.
    A job can put a file of terabytes, nearly all of it a hole, in the place of either: no more of it counts than a
    keeper may have written, and a keeper leaves no holes.
    """
    found: list[OutputPiece] = []
    try:
        status = os.lstat(path)
    except OSError:
        status = None
    if status is not None:
        if not modes.S_ISREG(status.st_mode):
            what = "a symbolic link" if modes.S_ISLNK(status.st_mode) else "no file"
            raise StateError(f"refused: {path} is {what}")
        length = status.st_size
        if length > BUDGET + _BESIDE:
            length = min(_filled(path, 0, length), LARGEST_BUDGET + _BESIDE)
        found.append(OutputPiece(0, length, path))
    ring = ring_path(path)
    start, end, safe, size = _header(path)
    end = safe if cut else end
    if not 0 < size <= LARGEST_BUDGET or end <= start:
        return found
    if size > BUDGET and _filled(ring, _HEADER, _HEADER + size) < min(end - start, size):
        return found
    kept = end - start
    if kept > size or (kept > size * 3 // 4 and not exact):
        kept = min(kept, size if exact else size - max(1, size // 4))
    first = end - kept
    at = (first - start) % size
    before_wrap = min(kept, size - at)
    found.append(OutputPiece(first, before_wrap, ring, _HEADER + at))
    if kept > before_wrap:
        found.append(OutputPiece(first + before_wrap, kept - before_wrap, ring, _HEADER))
    return found


def _header(path: str) -> tuple[int, int, int, int]:
    """The three numbers of a stream's ring, and its size (0: there is none)."""
    try:
        fd = files.open_plain(ring_path(path), os.O_RDONLY)
    except (OSError, StateError):
        return 0, 0, 0, 0
    try:
        header, size = os.pread(fd, 3 * _NUMBER, 0), os.fstat(fd).st_size - _HEADER
    finally:
        os.close(fd)
    start, end, safe = (int.from_bytes(header[at : at + _NUMBER], "little") for at in range(0, 3 * _NUMBER, _NUMBER))
    return start, end, safe, size


def _filled(path: str, begin: int, size: int) -> int:
    """Return how many bytes there are from `begin` up to the first hole; all where the file system does not say."""
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except (OSError, StateError):
        return 0
    try:
        return os.lseek(fd, begin, os.SEEK_HOLE) - begin
    except OSError:
        return size - begin
    finally:
        os.close(fd)


def read_piece(piece: OutputPiece, offset: int, count: int) -> bytes:
    """Return bytes of a piece; fewer if the file is shorter than it was."""
    try:
        fd = files.open_plain(piece.path, os.O_RDONLY)
    except (OSError, StateError):
        return b""
    try:
        count = min(count, piece.length - offset)
        return os.pread(fd, count, piece.skip + offset) if count > 0 else b""
    finally:
        os.close(fd)


def join(path: str, *, cut: bool = False) -> int:
    """Make one plain file of what a crash has left (`cut`: of the machine), for recovery; return how much was printed.

    How much was printed, as far as is known.
    """
    parts = pieces(path, cut=cut)
    printed = max((part.position + part.length for part in parts), default=0)
    if not os.path.exists(ring_path(path)):
        return printed
    start, end, _, _ = _header(path)
    if len(parts) == 1 and parts[0].length >= start:
        printed = max(printed, end)  # that number is true, though nothing of the ring can be relied upon
    _join(path, parts, printed, durable=True)
    return printed


def append(path: str, data: bytes) -> int:
    """Write the last words of a stream behind what is kept of it, for recovery; return how many bytes that were."""
    if not data:
        return 0
    fd = files.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        _write_all(fd, data)
    finally:
        os.close(fd)
    return len(data)


def _join(path: str, parts: list[OutputPiece], total: int | None, *, durable: bool) -> None:
    """A full disk leaves everything as it was: the two parts can be read just as well."""
    try:
        out = files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except (OSError, StateError):
        return
    size, start = os.fstat(out).st_size, _header(path)[0]
    if size > start > 0:  # a part of the ring stands there already: who did this before was interrupted
        os.ftruncate(out, start)
        size = start
    try:
        at = size
        for piece in parts:
            if piece.path == path:
                continue
            gap = piece.position - at
            _write_all(out, gap_line(gap) if gap > 0 else b"")
            for offset in range(0, piece.length, _CHUNK):
                _write_all(out, read_piece(piece, offset, _CHUNK))
            at = piece.position + piece.length
        if total is not None and total > at:
            _write_all(out, gap_line(total - at))
        if durable:
            files.sync(out)
    except OSError:
        os.ftruncate(out, size)
        return
    finally:
        os.close(out)
    try:
        os.unlink(ring_path(path))
    except OSError:
        pass  # the job has removed it: its folder is its own


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_kept(path: str) -> tuple[bytes, bool]:
    """Return everything that is on disk of a stream, joined, and whether anything is missing in between."""
    out: list[bytes] = []
    at = 0
    gap = False
    for piece in pieces(path):
        if piece.position > at:
            gap = True
            out.append(gap_line(piece.position - at))
        out.append(read_piece(piece, 0, piece.length))
        at = piece.position + piece.length
    return b"".join(out), gap
