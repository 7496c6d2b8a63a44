"""What has not been delivered yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.core import values
from unhang.core.record import Record
from unhang.store import alert_news, files

if TYPE_CHECKING:
    from typing import Any

_ALL = 1 << 20


class Backlog(Record):
    """How many messages are tried again, how many alerts are held back, of how many jobs the news is unread."""

    pending: int
    held: int
    unread: int
    delivering: bool
    stopped: int | None = None  # the pid of a deliverer that is stopped

    @property
    def count(self) -> int:
        """Return all of them."""
        return self.pending + self.held + self.unread

    @property
    def who(self) -> str:
        """Return why nothing of it is sent at the moment, for people; empty: a deliverer runs."""
        if self.stopped is not None:
            return f"the deliverer (pid {self.stopped}) is stopped: the next job or `unhang alerts deliver` wakes it"
        if not self.delivering:
            return "no deliverer runs: the next job or `unhang alerts deliver` starts one"
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return it as `unhang alerts status --json` prints it."""
        return dict(self.to_dict())


def backlog_of(home: str) -> Backlog:
    """Return what waits in this home."""
    state = files.read_json(f"{home}/{alert_news.FOLDER}/state.json") or {}
    return Backlog(
        pending=len(values.items_of(state, "pending", most=_ALL)),
        held=len(values.items_of(state, "held", most=_ALL)),
        unread=len(alert_news.marks(home)),
        delivering=alert_news.is_delivering(home),
        stopped=alert_news.stopped(home),
    )
