"""A cursor on what a job prints: reads what is new, and says where a part of a flood is missing."""

from __future__ import annotations

from unhang.store.output import gap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from unhang.jobs.handle import Job

# How far from its end a stream is searched for its last lines.
_MOST_TAIL = 1 << 20


class OutputCursor:
    """One position in each of the given streams of a job."""

    def __init__(self, job: Job, streams: tuple[str, ...]) -> None:
        self._job = job
        self._at = dict.fromkeys(streams, 0)

    def new(self) -> Iterator[tuple[str, bytes]]:
        """What was printed since the last call, as (stream, bytes); a line of ours stands for what is missing."""
        for stream, offset in self._at.items():
            while True:
                piece = self._job.output(stream, offset)
                if not piece.data:
                    break
                if piece.offset > offset:
                    yield stream, gap_line(piece.offset - offset)
                yield stream, piece.data
                offset = self._at[stream] = piece.next

    def tail(self, lines: int) -> Iterator[tuple[str, bytes]]:
        """The last lines of each stream, as (stream, bytes); `new` goes on behind them."""
        for stream in self._at:
            end = self._job.printed(stream)
            at, data = max(0, end - _MOST_TAIL), b""
            while at < end:
                piece = self._job.output(stream, at, end - at)
                if not piece.data:
                    break
                data, at = data + piece.data, piece.next
            self._at[stream] = at
            yield stream, b"".join(data.splitlines(keepends=True)[-lines:] if lines > 0 else [])
