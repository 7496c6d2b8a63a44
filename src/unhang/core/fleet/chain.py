"""What of one job's log is on the server, and what goes there next.

The log on disk is the spool: nothing else is kept. Every message says behind which one it belongs, and the server
refuses it if another came first. So a publisher that does not know whether a message arrived (an answer that was lost,
a crash, a second publisher) asks for the last one that is there and goes on behind it.

A log may come back from a power cut with fewer lines than were published, and recovery then writes others under the
same numbers. The last line on the server shows it: it is not the line of that number on disk. The log is then
published once more from its beginning, and says so (`Unhang-Again`).
"""

from __future__ import annotations

from unhang.core.fleet.messages import EventMessage, Stored, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unhang.core.fleet.messages import Line


class Chain:
    """The chain of one job. `last`: the event up to which the server has the log, once that is `sure`."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.last = 0
        self.sure = False
        self._place = 0
        self._again = False
        self._sent: EventMessage | None = None

    def resume(self, stored: Stored | None, line: bytes | None) -> None:
        """Take what the server has last (None: nothing), and the line of that number on disk (None: there is none)."""
        self.sure, self._sent = True, None
        if stored is None:
            # What was acknowledged and is gone has expired: only what is new goes there.
            self._place = 0
        elif line == stored.last_line:
            self.last, self._place, self._again = stored.last, stored.place, False
        else:
            self.last, self._place, self._again = 0, stored.place, True

    def next(self, lines: Sequence[Line]) -> EventMessage | None:
        """Return what to publish of the lines behind `last`; None if nothing is due, or if the server must be asked."""
        if not self.sure or not lines:
            return None
        self._sent = pack(self.subject, lines, self._place, again=self._again)
        return self._sent

    def stored(self, place: int) -> None:
        """Note that the server has stored the message that `next` made, at this place of the stream."""
        if self._sent is not None:
            self.last, self._place, self._again = self._sent.last, place, False
        self._sent = None

    def doubt(self) -> None:
        """Note that the message was refused, or no answer came: the server must be asked what it has."""
        self.sure, self._sent = False, None
