"""The lines that a job prints: as they come, until it ends; the last of them; and when each was printed."""

from __future__ import annotations

from bisect import bisect_left

from unhang.core import events as ev
from unhang.core import plain_text, values
from unhang.core.lines import Lines
from unhang.core.record import Record
from unhang.errors import UsageError
from unhang.jobs.follow import Follower
from unhang.jobs.output_cursor import OutputCursor
from unhang.procs import clock
from unhang.store.output_order import OrderReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from unhang.jobs.handle import Job

STREAMS = ("stdout", "stderr")
# A longer line is given in parts.
_MOST_HELD = 1 << 20
# How far from the end of its streams the last lines of a job are looked for first.
_TAIL = 1 << 18


class Line(Record):
    """One line with its end, if it has one; `end` is where it ends in its stream, None: it is a line of ours."""

    stream: str
    data: bytes
    end: int | None

    @property
    def text(self) -> str:
        """Return the line as text, without its end."""
        return plain_text.decode(self.data).removesuffix("\n").removesuffix("\r")


class LineReader:
    """Cuts what is new of a job's streams into lines."""

    def __init__(self, cursor: OutputCursor, streams: tuple[str, ...] = STREAMS) -> None:
        self.cursor = cursor
        self._lines = {stream: Lines(_MOST_HELD) for stream in streams}
        # in each stream: the end of the lines that were given, and of what was read
        self._given = dict.fromkeys(streams, 0)
        self._read = dict.fromkeys(streams, 0)

    def new(self) -> Iterator[Line]:
        """Yield the lines that have become whole since the last call."""
        for piece in self.cursor.new():
            stream = piece.stream
            if piece.offset is None:
                yield from self._held(stream)
                yield Line(stream, piece.data.strip(b"\n") + b"\n", None)
                continue
            if piece.offset != self._read[stream]:  # the first, or the first behind a gap
                self._given[stream] = piece.offset
            self._read[stream] = piece.offset + len(piece.data)
            rest, whole = self._lines[stream].feed(piece.data)
            for line in [rest, *whole] if rest else whole:
                self._given[stream] += len(line)
                yield Line(stream, line, self._given[stream])

    def rest(self) -> Iterator[Line]:
        """Yield what was printed last without the end of a line."""
        for stream in self._lines:
            yield from self._held(stream)

    def _held(self, stream: str) -> Iterator[Line]:
        held = self._lines[stream].flush()
        if held:
            self._given[stream] += len(held)
            yield Line(stream, held, self._given[stream])


def last_lines(job: Job, streams: tuple[str, ...], count: int) -> tuple[list[Line], LineReader]:
    """Return the last lines of a job in the order written, and what reads on behind them.

    The last one may have no end yet: what follows of it comes as a line of its own.
    """
    window = _TAIL
    while True:
        cursor = OutputCursor(job, streams)
        cursor.back_off(window)
        reader = LineReader(cursor, streams)
        skipped = cursor.skipped
        lines = [*reader.new(), *reader.rest()]
        # of each stream the first line may be the rest of one
        if not skipped or len(lines) >= count + len(streams):
            return lines[-count:] if count > 0 else [], reader
        window *= 8


class OutputTimes:
    """When which part of a stream was read, from the events of its job: to the second."""

    def __init__(self, job: Job) -> None:
        self._marks: dict[str, list[tuple[int, float]]] = {stream: [] for stream in STREAMS}
        for turn in OrderReader(job.place.order).new():
            self._marks[turn.stream].append((turn.end, turn.at))

    def add(self, events: Iterable[ev.Event]) -> None:
        """Learn from events, in their order."""
        for event in events:
            at = values.moment(event.get("ts")) if event.get("type") == ev.OUTPUT else None
            marks = self._marks.get(str(event.get("stream")))
            if at is not None and marks is not None:
                marks.append(((event.get("offset") or 0) + (event.get("bytes") or 0), at))

    def at(self, line: Line) -> float | None:
        """Return when the end of a line was read; None if that is not recorded yet, or it is a line of ours."""
        if line.end is None:
            return None
        marks = self._marks[line.stream]
        marks.sort()  # two sources, each in order: this costs next to nothing
        found = bisect_left(marks, (line.end, 0.0))
        return marks[found][1] if found < len(marks) else None


def streams_of(stream: str | None) -> tuple[str, ...]:
    """Return the streams that are meant: the one that is named, or both. Raises UsageError."""
    if stream is not None and stream not in STREAMS:
        raise UsageError(f"stream must be {' or '.join(STREAMS)}: {stream!r}")
    return STREAMS if stream is None else (stream,)


def follow_lines(job: Job, stream: str | None, timeout: float | None) -> Iterator[str]:
    """Yield every line, as it comes; ends with the job, or when the time is over."""
    streams = streams_of(stream)
    deadline = None if timeout is None else clock.monotonic() + timeout
    reader = LineReader(OutputCursor(job, streams), streams)
    with Follower(job.place, output=streams) as follower:
        while True:
            follower.new()
            ended = follower.ended
            yield from (line.text for line in reader.new())
            left = None if deadline is None else deadline - clock.monotonic()
            if ended or (left is not None and left <= 0):
                yield from (line.text for line in reader.rest())
                return
            follower.wait(left)


async def follow_lines_async(job: Job, stream: str | None, timeout: float | None) -> AsyncIterator[str]:
    """Do what `follow_lines` does, without blocking the event loop."""
    from unhang.jobs.async_readable import CHECK, Readable

    streams = streams_of(stream)
    deadline = None if timeout is None else clock.monotonic() + timeout
    reader = LineReader(OutputCursor(job, streams), streams)
    with Follower(job.place, output=streams) as follower:
        async with Readable(follower) as readable:
            while True:
                follower.new()
                ended = follower.ended
                for line in reader.new():
                    yield line.text
                left = CHECK if deadline is None else deadline - clock.monotonic()
                if ended or left <= 0:
                    for line in reader.rest():
                        yield line.text
                    return
                await readable.wait(left)
