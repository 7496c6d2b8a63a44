"""Which prompt of a session runs, and whether it may be cancelled.

`session/cancel` names a session and no turn: one that is sent late would end the turn after the one that it was
meant for. So a cancel is asked for by the number of a request, is sent at most once and only while that very request
is unanswered; and a session that was cancelled takes no further prompt from us, since there is no telling when an
agent gets around to it.
"""

from __future__ import annotations


class CancelGuard:
    """Knows which prompt runs, and whether a cancel may still be sent."""

    def __init__(self) -> None:
        self.running: int | None = None
        self.spent = False  # a cancel has been sent
        self._last = 0

    def begin(self, request: int) -> bool:
        """Return whether this prompt may be sent. Numbers only grow."""
        if self.running is not None or self.spent or request <= self._last:
            return False
        self.running = self._last = request
        return True

    def cancel(self, request: int | None) -> bool:
        """Return whether a cancel is to be sent now."""
        if request is None or request != self.running or self.spent:
            return False
        self.spent = True
        return True

    def ended(self, request: int) -> bool:
        """Return whether the turn that has ended is the one that ran."""
        if request != self.running:
            return False
        self.running = None
        return True
