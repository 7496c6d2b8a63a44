"""Reading what a job printed, by position in the stream, while it runs and after it has ended."""

from __future__ import annotations

from unhang.core.record import Record
from unhang.store.output import OutputPiece, gap_line, pieces, read_piece


class Slice(Record):
    """`data` starts at byte `offset` of the stream; `next` is where to read on. A gap is skipped: offset > asked."""

    offset: int
    data: bytes
    next: int


def laid_out(path: str, *, total: int | None, head: int) -> list[OutputPiece]:
    """Return where which bytes are. `total`: of an ended job (its file may be joined from two parts); None: it runs."""
    found = pieces(path)
    if total is None or len(found) != 1:
        return found
    if found[0].length == total <= 2 * head + 1:  # more was never kept whole: that length is then a coincidence
        return found
    size = found[0].length
    for digits in range(1, 20):
        mark = len(gap_line(10 ** (digits - 1)))
        kept = size - mark
        missing = total - kept
        if missing <= 0 or kept < head or len(gap_line(missing)) != mark:
            continue
        if read_piece(found[0], head, mark) == gap_line(missing):  # near a power of ten two numbers would fit
            tail = kept - head
            return [OutputPiece(0, head, path), OutputPiece(total - tail, tail, path, head + mark)]
    return found


def read(parts: list[OutputPiece], offset: int, limit: int) -> Slice:
    """Return up to `limit` bytes from `offset` on; from the first byte that is still there if those are gone."""
    data = b""
    at = offset
    for piece in parts:
        end = piece.position + piece.length
        if end <= at:
            continue
        if data and piece.position != at + len(data):
            break  # a gap: the caller reads on behind it
        if not data:
            at = max(at, piece.position)
        start = at + len(data) - piece.position
        data += read_piece(piece, start, limit - len(data))
        if len(data) >= limit:
            break
    return Slice(at, data, at + len(data))
