"""The output of the jobs that people look at, by rows: which rows there are, and which hold a text. For any thread."""

from __future__ import annotations

import threading
from collections import OrderedDict

from unhang.jobs.handle import attach
from unhang.jobs.output_rows import OutputRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from unhang.store.output_reader import Slice

# Jobs whose output is numbered at once.
_KEPT = 32
_LONGEST_TEXT = 200


class OutputViewer:
    """Numbers the rows of what the jobs of one home printed; of one that is asked for again, only what is new."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._rows: OrderedDict[tuple[str, str], OutputRows] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, job_id: str, stream: str, first: int, count: int, at: int | None) -> dict[str, Any]:
        """Return rows of the output by number; `at`: those around a byte of the stream.

        A negative `first`: from the end.
        """
        with self._lock:
            rows = self._rows_of(job_id, stream)
            around = None if at is None else rows.row_at(at)
            if around is not None:
                first = max(0, around - count // 2)
            elif first < 0:
                first = max(0, rows.total + first)
            found = rows.read(first, count)
            return {
                "first": first,
                "total": rows.total,
                "bytes": rows.end,
                "at": around,
                "rows": [[row.offset, row.text, row.left_out] for row in found],
            }

    def search(self, job_id: str, stream: str, text: str) -> dict[str, Any]:
        """Return the numbers of the rows that hold a text."""
        with self._lock:
            rows = self._rows_of(job_id, stream)
            return {"total": rows.total, "found": rows.search(text[:_LONGEST_TEXT])}

    def _rows_of(self, job_id: str, stream: str) -> OutputRows:
        job = attach(self._home, job_id)
        rows: OutputRows = get_or_make(self._rows, (job.id, stream), lambda: OutputRows(job, stream), _KEPT)
        rows.refresh()
        return rows


def get_or_make(store: OrderedDict[Any, Any], key: Any, make: Callable[[], Any], most: int) -> Any:
    """Return the value of a key, made if need be; beyond so many, the one that was not asked for longest is let go."""
    if key not in store:
        store[key] = make()
    store.move_to_end(key)
    while len(store) > most:
        store.popitem(last=False)
    return store[key]


def whole_output(read: Callable[[int], Slice]) -> Iterator[bytes]:
    """Yield everything that is kept of a stream, from the first byte; `read` gives what is there from a position on."""
    at = 0
    while True:
        piece = read(at)
        if not piece.data:
            return
        if piece.offset > at:
            yield f"\n[unhang: {piece.offset - at} bytes left out here]\n".encode()
        yield piece.data
        at = piece.next
