"""What a job's files say: its view, its result, and excerpts of its output. Every face shows these."""

from __future__ import annotations

import os

from unhang.core import plain_text, values
from unhang.core.events import EXITED
from unhang.core.record import Record
from unhang.core.result import Printed, Result, build
from unhang.core.spec import command_line
from unhang.core.view import View
from unhang.jobs import reconcile
from unhang.procs import clock
from unhang.store import output, output_reader, records
from unhang.store.reader import EVERYTHING, EventReader, last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.events import Event
    from unhang.jobs.handle import Job
    from unhang.store.layout import JobDir
    from unhang.store.output import OutputPiece

# A longer log is folded from its beginning and its end: what is between does not change what is shown.
_WHOLE = 1 << 20


def view_of(place: JobDir, *, synced_to: float | None = None) -> View:
    """Return what the events of a job say so far. Of a very long log only the beginning and the end are read.

    `synced_to`: see `EventReader`.
    """
    view = View()
    fold(place, view.apply, synced_to=synced_to)
    return view


def fold(place: JobDir, apply: Callable[[Event], None], *, synced_to: float | None = None) -> tuple[int, int]:
    """Apply the events of a job so far, of a very long log only those of the beginning and the end.

    Return the number of the last one, and the position behind it (see `EventReader`).
    """
    try:
        reader = EventReader(place.events, synced_to=synced_to)
    except FileNotFoundError:
        return 0, 0
    with reader:
        size = os.stat(place.events).st_size
        for event in reader.read_new(None if size <= _WHOLE else 1000):
            if event["type"] != EXITED:
                apply(event)
        seq, position = reader.seq, reader.position
    if size > _WHOLE:
        with EventReader(
            place.events,
            after_seq=max(seq, (last_event(place.events) or {}).get("seq", 0) - 1000),
            synced_to=synced_to,
        ) as end:
            for event in end.read_new():
                if event["type"] != EXITED:
                    apply(event)
            seq, position = end.seq, end.position
    if (last := recorded_end(place, seq, said=synced_to == EVERYTHING)) is not None:
        apply(last)
    return seq, position


def printed(place: JobDir, stream: str, view: View) -> Printed:
    """Return what is kept of one stream, its last part, and whether anything is missing."""
    data, gap = output.read_kept(place.stream(stream))
    tail = data if len(data) <= output.TAIL else plain_text.whole_start(data[-output.TAIL :])
    # of an ended job one file is left: it has all that was printed, or a line that says what is missing
    cut = gap or (view.status != "running" and len(data) != view.bytes.get(stream, len(data)))
    return Printed(plain_text.decode(data), plain_text.decode(tail), cut)


def recorded_end(place: JobDir, seq: int, *, said: bool = False) -> Event | None:
    """Return the end of a job of which all up to event `seq` was read; None: it runs, or has gone on since.

    It is the last line of the log. An end elsewhere is none, and the numbers of other lines may be higher: a job can
    write to its own log, too. `said`: its keeper has told its caller of the end, so that it need not be asked for.
    """
    last = last_event(place.events)
    if last is None or last["seq"] > seq or last["type"] != EXITED:
        return None
    return last if said or not reconcile.is_untrue_end(place) else None


def view_with_limits(place: JobDir, view: View | None = None) -> View:
    """Return the view of a job, with the limits that were asked for where no event has named them yet."""
    view = view or view_of(place)
    if not view.limits:
        view.limits = (records.job(place) or {}).get("sources") or {}
    return view


def elapsed_of(view: View) -> float | None:
    """Return how many seconds a running job has run; None if it has ended or has not been started."""
    started = values.moment(view.started_at)
    return None if view.ended or started is None else max(0.0, clock.wall() - started)


def result_of(place: JobDir, view: View | None = None) -> Result:
    """Return the result of a job; of a running one what is known so far."""
    view = view_with_limits(place, view)
    stdout, stderr = (printed(place, stream, view) for stream in ("stdout", "stderr"))
    result = build(place.id, view, stdout, stderr, elapsed_of(view), command_line(records.job(place) or {}))
    return result if view.ended else result.replace(diagnosis=view.diagnosis_at(clock.wall()))


def output_mark(place: JobDir) -> tuple[tuple[int, int], ...]:
    """Return sizes and times of the output files: empty before anything is printed, another one after each write."""
    found: list[tuple[int, int]] = []
    for name in ("stdout", "stderr"):
        for path in (place.stream(name), output.ring_path(place.stream(name))):
            try:
                seen = os.stat(path)
            except OSError:
                continue
            if seen.st_size:
                found.append((seen.st_size, seen.st_mtime_ns))
    return tuple(found)


class Excerpt(Record):
    """The beginning and the end of a stream, without reading what is between: floods are the normal case.

    `text`: all of it, or head, a line that says what is missing, and tail. `left_out`: (from, to) in the stream.
    """

    text: str
    tail: str
    total: int
    left_out: tuple[int, int] | None


def pieces_of(job: Job, view: View, stream: str) -> list[OutputPiece]:
    """Return the pieces of a stream that are kept, each with its position in the stream."""
    total = view.bytes.get(stream) if view.ended else None
    head = (job.spec.get("budget") or output.BUDGET) // 2
    return output_reader.laid_out(job.place.stream(stream), total=total, head=head)


def excerpt(job: Job, view: View, stream: str, *, most: int, tail: int) -> Excerpt:
    """Return an excerpt of at most about `most` bytes: a third from the beginning, the rest from the end."""
    parts = pieces_of(job, view, stream)
    end = parts[-1].position + parts[-1].length if parts else 0
    if end <= most:
        data = output_reader.read(parts, 0, end).data if parts else b""
        return Excerpt(plain_text.decode(data), plain_text.decode(plain_text.whole_start(data[-tail:])), end, None)
    first = output_reader.read(parts, 0, most // 3).data
    last = output_reader.read(parts, end - (most - most // 3), most).data
    gap = (len(first), end - len(last))
    note = f"\n[… {gap[1] - gap[0]} bytes left out; read on at offset {gap[0]} …]\n"
    last = plain_text.whole_start(last)
    text = plain_text.decode(first) + note + plain_text.decode(last)
    return Excerpt(text, plain_text.decode(plain_text.whole_start(last[-tail:])), end, gap)
