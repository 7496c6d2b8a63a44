"""The beginning and the end of what a job printed, without reading what is between: floods are the normal case."""

from __future__ import annotations

from unhang.core import plain_text
from unhang.core.record import Record
from unhang.store import output_reader
from unhang.store.output import BUDGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.view import View
    from unhang.jobs.handle import Job


class Excerpt(Record):
    """`text`: all of it, or head, a line that says what is missing, and tail. `left_out`: (from, to) in the stream."""

    text: str
    tail: str
    total: int
    left_out: tuple[int, int] | None


def excerpt(job: Job, view: View, stream: str, *, most: int, tail: int) -> Excerpt:
    """At most about `most` bytes: a third from the beginning, the rest from the end."""
    total = view.bytes.get(stream) if view.ended else None
    head = (job.spec.get("budget") or BUDGET) // 2
    parts = output_reader.laid_out(job.place.stream(stream), total=total, head=head)
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
