"""Reading a job's events from a cursor. The cost is that of what is new, not of what is there.

Lines are numbered without gaps and in order, so the place of a cursor is found by bisection over the bytes: a few
reads, whatever the length. A torn last line is normal (the writer may be in the middle of it) and is left alone.
"""

from __future__ import annotations

import os

from unhang.core import events as ev

_CHUNK = 1 << 16
# Below this many bytes a plain scan is cheaper than looking for the place.
_SCAN = 1 << 15


class EventReader:
    """A cursor on one log. Not for sharing between threads."""

    def __init__(self, path: str, *, after_seq: int = 0) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.seq = after_seq
        self._position = self._find(after_seq) if after_seq > 0 else 0
        self._rest = b""

    def read_new(self, limit: int | None = None) -> list[ev.Event]:
        """Every complete event after the cursor; moves the cursor."""
        found: list[ev.Event] = []
        while limit is None or len(found) < limit:
            chunk = os.pread(self._fd, _CHUNK, self._position)
            if not chunk:
                break
            end = chunk.rfind(b"\n")
            if end < 0:
                break  # a torn line; whole lines are far shorter than a chunk
            used = 0
            for line in chunk[: end + 1].splitlines(keepends=True):
                used += len(line)
                event = ev.from_line(line)
                if event is None or event["seq"] <= self.seq:
                    continue
                self.seq = event["seq"]
                found.append(event)
                if limit is not None and len(found) >= limit:
                    break
            self._position += used
        return found

    def _find(self, seq: int) -> int:
        """The position of a line at or before event `seq` + 1."""
        low, high = 0, os.fstat(self._fd).st_size
        while high - low > _SCAN:
            middle = (low + high) // 2
            chunk = os.pread(self._fd, 2 * ev.MAX_LINE, middle)
            start = chunk.find(b"\n") + 1
            end = chunk.find(b"\n", start)
            event = ev.from_line(chunk[start:end]) if start and end > 0 else None
            if event is None or event["seq"] > seq:
                high = middle
            else:
                low = middle + start
        return low

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> EventReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_all(path: str) -> list[ev.Event]:
    try:
        with EventReader(path) as reader:
            return reader.read_new()
    except FileNotFoundError:
        return []


def last_event(path: str) -> ev.Event | None:
    """The last whole event, at the cost of one read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        size = os.fstat(fd).st_size
        start = max(0, size - 2 * ev.MAX_LINE)
        data = os.pread(fd, size - start, start)
    finally:
        os.close(fd)
    for line in reversed(data.split(b"\n")[:-1]):
        event = ev.from_line(line)
        if event is not None:
            return event
    return None
