"""Reading a job's events from a cursor. The cost is that of what is new, not of what is there.

Lines are numbered without gaps and in order, so the place of a cursor is found by bisection over the bytes: a few
reads, whatever the length. A torn last line is normal (the writer may be in the middle of it) and is left alone; a
line that is longer than any event is not one of ours, and is passed over.
"""

from __future__ import annotations

import errno
import os

from unhang.core import events as ev
from unhang.errors import StateError
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 16
# Below this many bytes a plain scan is cheaper than looking for the place.
_SCAN = 1 << 15
# `synced_to` of a log whose keeper has said that the end is on the disk.
EVERYTHING = float("inf")
# A reader that wants a number of events passes over this many other lines at most: a job can write any number of them.
_PASSED_OVER = 10_000
# How far from its end a log is searched for a whole event.
_FAR = 4 << 20


class EventReader:
    """A cursor on one log. Not for sharing between threads."""

    def __init__(
        self, path: str, *, after_seq: int = 0, position: int | None = None, synced_to: float | None = None
    ) -> None:
        """`position`: that of an earlier reader which had read up to `after_seq`; else the place is looked for.

        `synced_to`: the keeper has said that the events up to this one are on the disk (EVERYTHING: that its last one
        is), and will say so of the next. So nothing is synced here, and what must survive is not read sooner.
        """
        self._fd = files.open_plain(path, os.O_RDONLY)
        self.synced_to = synced_to
        self.seq = after_seq
        if position is None:
            position = self._find(after_seq) if after_seq > 0 else 0
        self._position = position
        self._in_long_line = False

    @property
    def position(self) -> int:
        """Return the byte behind the last line that was read: a later reader can go on there."""
        return self._position

    def read_new(self, limit: int | None = None) -> list[ev.Event]:
        """Return every complete event after the cursor; moves the cursor.

        What it tells of would survive a power cut.
        """
        return [event for event, _ in self.read_lines(limit)]

    def read_lines(self, limit: int | None = None) -> list[tuple[ev.Event, bytes]]:
        """Do what `read_new` does, each event with its line as it is on disk."""
        found: list[tuple[ev.Event, bytes]] = []
        passed_over = 0
        while limit is None or (len(found) < limit and passed_over < _PASSED_OVER):
            chunk = os.pread(self._fd, _CHUNK, self._position)
            if not chunk:
                break
            end = chunk.rfind(b"\n")
            if end < 0:
                if len(chunk) < _CHUNK:
                    break  # a torn line
                self._position = _next_data(self._fd, self._position + len(chunk))
                self._in_long_line = True
                continue
            used = 0
            for line in chunk[: end + 1].splitlines(keepends=True):
                event = None if self._in_long_line else ev.from_line(line)
                if event is not None and self._is_being_synced(event):
                    self._position += used
                    return found
                used += len(line)
                self._in_long_line = self._in_long_line and not line.endswith(b"\n")
                if event is None or event["seq"] <= self.seq:
                    passed_over += 1
                    continue
                self.seq = event["seq"]
                found.append((event, line))
                if limit is not None and len(found) >= limit:
                    break
            self._position += used
        self._make_durable(found)
        return found

    def _is_being_synced(self, event: ev.Event) -> bool:
        return self.synced_to is not None and event["seq"] > self.synced_to and ev.is_promise(event)

    def _make_durable(self, found: list[tuple[ev.Event, bytes]]) -> None:
        """The keeper syncs what it promises right after it has written it; a reader may be faster than that sync."""
        if self.synced_to is not None or not any(ev.is_promise(event) for event, _ in found):
            return
        # a log that has been left alone for a while is on the disk, and a sync makes the disk empty its cache
        if files.may_be_unwritten(os.fstat(self._fd)):
            try:
                os.fdatasync(self._fd)
            except OSError:
                pass  # a file system that cannot

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
        """Close the log; nothing can be read afterwards."""
        os.close(self._fd)

    def __enter__(self) -> EventReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_all(path: str) -> list[ev.Event]:
    """Return every event of the log at this path; an empty list if there is no such file."""
    try:
        with EventReader(path) as reader:
            return reader.read_new()
    except FileNotFoundError:
        return []


def last_event(path: str, kind: str | None = None, within: int = _FAR) -> ev.Event | None:
    """Return the last whole event (of this type) among the last `within` bytes; None if there is none, or no log."""
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except (OSError, StateError):
        return None
    try:
        size = os.fstat(fd).st_size
        for start, end in lines_from_the_end(fd, size, max(0, size - within)):
            event = ev.from_line(os.pread(fd, end - start, start))
            if event is not None and kind in (None, event["type"]):
                return event
    except OSError:
        pass
    finally:
        os.close(fd)
    return None


def lines_from_the_end(fd: int, size: int, until: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of each whole line, the last one first; those longer than any event are passed over.

    In pieces, so that a log that was filled with anything costs time but no memory; holes cost neither. `until`: no
    further back.
    """
    end = -1  # of the line whose beginning is looked for; -1: no line end has been seen yet
    at = size
    first = True
    while at > until:
        start = max(until, at - (2 * ev.MAX_LINE if first else _CHUNK))
        first = False
        piece = os.pread(fd, at - start, start)
        cut = len(piece)
        while (newline := piece.rfind(b"\n", 0, cut)) >= 0:
            if end >= 0 and end - (start + newline + 1) <= ev.MAX_LINE:
                yield start + newline + 1, end
            end = start + newline + 1
            cut = newline
        at = start if piece.strip(b"\0") else max(until, _data_before(fd, start))
    if until == 0 and 0 < end <= ev.MAX_LINE:
        yield 0, end


def _next_data(fd: int, position: int) -> int:
    """Return where data goes on, from this position or behind the hole that it stands in; at the end: the end.

    A file with a hole of terabytes is made in a moment, and read for as long as if it were full.
    """
    try:
        return os.lseek(fd, position, os.SEEK_DATA)
    except OSError as error:
        return max(position, os.fstat(fd).st_size) if error.errno == errno.ENXIO else position


def _data_before(fd: int, position: int) -> int:
    """Return where the hole before this position begins; the position itself if there is none."""
    low, high = 0, position
    while low < high:
        middle = (low + high) // 2
        if _next_data(fd, middle) >= position:
            high = middle
        else:
            low = middle + 1
    return high
