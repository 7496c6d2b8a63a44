"""A message of a job's log: some events, each line as it is on disk, and headers that say which.

    Nats-Expected-Last-Subject-Sequence  the place in the stream of this job's message before
    Unhang-First, Unhang-Last            the numbers of the first and the last event in it
    Unhang-Again                         a log on disk has lost its end (a power cut): what came before is void

The server stores a message only if nothing came in between (see chain.py): this makes a log whole, in order and without
doubles. There is no Nats-Msg-Id: ids are recognised in the whole stream, and another machine could use ours before us.
"""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import values
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Line = tuple[int, bytes]

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
FIRST, LAST, AGAIN = "Unhang-First", "Unhang-Last", "Unhang-Again"
# Of one message: far below what a server takes (1 MB), and enough that a flood of events needs few of them.
LARGEST = 256 << 10
# No log has so many events; and Python refuses to read a number of thousands of digits.
_LONGEST_NUMBER = 18


class EventMessage(Record):
    """Events `first` to `last` of a job, to be stored behind the message at `expected` (0: none) of its subject."""

    subject: str
    first: int
    last: int
    payload: bytes
    expected: int
    again: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that it is published with."""
        made = {
            EXPECTED: str(self.expected),
            FIRST: str(self.first),
            LAST: str(self.last),
        }
        return made | ({AGAIN: "1"} if self.again else {})


class Stored(Record):
    """A message as the server has it. `place` is its number in the stream."""

    place: int
    first: int
    last: int
    payload: bytes
    again: bool = False

    @property
    def lines(self) -> list[Line]:
        """Return its events, each with its number; what is no event is left out."""
        found = []
        for line in self.payload.splitlines(keepends=True):
            event = ev.from_line(line)
            if event is not None:
                found.append((int(event["seq"]), line))
        return found

    @property
    def last_line(self) -> bytes:
        """Return the line of its last event."""
        return self.payload[self.payload.rfind(b"\n", 0, len(self.payload) - 1) + 1 :]


def pack(subject: str, lines: Sequence[Line], expected: int, *, again: bool = False) -> EventMessage:
    """Make a message of the first of these lines, as many as fit; there must be one."""
    taken, size = 0, 0
    for _, line in lines:
        if taken and size + len(line) > LARGEST:
            break
        taken, size = taken + 1, size + len(line)
    payload = b"".join(line for _, line in lines[:taken])
    return EventMessage(subject, lines[0][0], lines[taken - 1][0], payload, expected, again)


def unpack(headers: Mapping[str, str] | None, payload: bytes, place: int) -> Stored | None:
    """Read a message of the server; None if it is none of these."""
    given = headers or {}
    first, last = (_number(given.get(name)) for name in (FIRST, LAST))
    if first is None or last is None or last < first or not payload:
        return None
    return Stored(place, first, last, payload, AGAIN in given)


def _number(text: str | None) -> int | None:
    if text is None or len(text) > _LONGEST_NUMBER or not (text.isascii() and text.isdigit()):
        return None
    return values.whole(int(text), least=1)


class Unfolded:
    """The events of a job from its messages, each once and in order, whatever is read twice."""

    def __init__(self, after: int = 0) -> None:
        self.last = after

    def take(self, message: Stored) -> list[Line]:
        """Return what a message adds. After `Unhang-Again` the numbers begin anew."""
        if message.again and message.first <= self.last:
            self.last = message.first - 1
        found = [(seq, line) for seq, line in message.lines if seq > self.last]
        self.last = max([self.last, *(seq for seq, _ in found)])
        return found
