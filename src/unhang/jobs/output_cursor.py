"""A cursor on what a job prints: reads what is new, in the order written, and says where bytes are missing."""

from __future__ import annotations

from unhang.core.record import Record
from unhang.store.output import gap_line
from unhang.store.output_order import OrderReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from unhang.jobs.handle import Job


class StreamPiece(Record):
    """Some bytes of one stream; they begin at byte `offset` of it. A line of ours that stands for a gap has none."""

    stream: str
    offset: int | None
    data: bytes


class OutputCursor:
    """One position in each of the given streams of a job."""

    def __init__(self, job: Job, streams: tuple[str, ...]) -> None:
        self._job = job
        self._at = dict.fromkeys(streams, 0)
        self._order = OrderReader(job.place.order) if len(streams) > 1 else None
        self._speaker = streams[0]  # whose turn it is now, as far as is known

    def back_off(self, most: int) -> None:
        """Go to at most `most` bytes before the end of each stream."""
        self._at = {stream: max(0, self._job.printed(stream) - most) for stream in self._at}

    @property
    def skipped(self) -> bool:
        """Return whether there is output before the cursor."""
        return any(self._at.values())

    def new(self) -> Iterator[StreamPiece]:
        """Yield what was printed since the last call; a line of ours stands for what is missing."""
        for turn in self._order.new() if self._order is not None else ():
            yield from self._up_to(turn.stream, turn.end)
            self._speaker = next((other for other in self._at if other != turn.stream), turn.stream)
        # what comes behind the last turn that is known: first the stream whose turn it is
        for stream in sorted(self._at, key=lambda stream: stream != self._speaker):
            yield from self._up_to(stream, None)

    def _up_to(self, stream: str, end: int | None) -> Iterator[StreamPiece]:
        offset = self._at[stream]
        while end is None or offset < end:
            piece = self._job.output(stream, offset, min(_READ, _READ if end is None else end - offset))
            if not piece.data:
                return
            if piece.offset > offset:
                yield StreamPiece(stream, None, gap_line(piece.offset - offset))
            yield StreamPiece(stream, piece.offset, piece.data)
            offset = self._at[stream] = piece.next


_READ = 1 << 20
