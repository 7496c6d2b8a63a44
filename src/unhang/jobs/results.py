"""Job directory → view and result. Reads only what is on disk, so it says the same to everybody."""

from __future__ import annotations

import os

from unhang.core import plain_text, values
from unhang.core.result import Printed, Result, build
from unhang.core.view import View
from unhang.procs import clock
from unhang.store import output, records
from unhang.store.reader import EventReader, last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.store.layout import JobDir

# A longer log is folded from its beginning and its end: what is between does not change what is shown.
_WHOLE = 1 << 20


def view_of(place: JobDir) -> View:
    view = View()
    try:
        reader = EventReader(place.events)
    except FileNotFoundError:
        return view
    with reader:
        size = os.stat(place.events).st_size
        for event in reader.read_new(None if size <= _WHOLE else 1000):
            view.apply(event)
    if size > _WHOLE:
        with EventReader(
            place.events, after_seq=max(view.seq, (last_event(place.events) or {}).get("seq", 0) - 1000)
        ) as end:
            for event in end.read_new():
                view.apply(event)
    return view


def printed(place: JobDir, stream: str, view: View) -> Printed:
    data, gap = output.kept(place.stream(stream))
    tail = data if len(data) <= output.TAIL else plain_text.whole_start(data[-output.TAIL :])
    # of an ended job one file is left: it has all that was printed, or a line that says what is missing
    cut = gap or (view.status != "running" and len(data) != view.bytes.get(stream, len(data)))
    return Printed(plain_text.decode(data), plain_text.decode(tail), cut)


def result_of(place: JobDir, view: View | None = None) -> Result:
    view = view or view_of(place)
    if not view.limits:
        view.limits = (records.job(place) or {}).get("sources") or {}
    elapsed = None
    started = values.moment(view.started_at)
    if not view.ended and started is not None:
        elapsed = max(0.0, clock.wall() - started)
    return build(place.id, view, printed(place, "stdout", view), printed(place, "stderr", view), elapsed)
