"""The rows of the sessions of a home, for its publisher: of every stream only what is new is read."""

from __future__ import annotations

from unhang.core.fleet.session_rows import session_row
from unhang.errors import UnhangError
from unhang.jobs.overview import TrackedSession
from unhang.procs import vantage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SessionRows:
    """Reads the sessions of one home for their rows. Not for sharing between threads."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._sessions: dict[str, TrackedSession] = {}

    def of(self, session: str) -> dict[str, Any] | None:
        """Return the row of a session; None if it cannot be read. One whose process is gone has ended."""
        tracked = self._sessions.setdefault(session, TrackedSession(session, self._home))
        try:
            tracked.read()
            if not tracked.view.seq:
                return None
            if tracked.dead(vantage.here()):
                tracked.end()
            return session_row(tracked.entry())
        except (UnhangError, OSError):
            return None

    def forget(self, session: str) -> None:
        """Forget a session that was removed."""
        self._sessions.pop(session, None)
