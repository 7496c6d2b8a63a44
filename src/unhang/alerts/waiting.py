"""What has not been delivered yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.core.record import Record
from unhang.store import alert_news, files

if TYPE_CHECKING:
    from typing import Any


class Waiting(Record):
    """How many messages are tried again, how many alerts are held back, of how many jobs the news is unread."""

    pending: int
    held: int
    unread: int
    delivering: bool

    @property
    def count(self) -> int:
        """All of them."""
        return self.pending + self.held + self.unread

    def to_json(self) -> dict[str, Any]:
        """As `unhang alerts status --json` prints it."""
        return dict(self.to_dict())


def waiting(home: str) -> Waiting:
    """What waits in this home."""
    state = files.read_json(f"{home}/{alert_news.FOLDER}/state.json") or {}
    return Waiting(
        pending=len(state.get("pending") or []),
        held=len(state.get("held") or []),
        unread=len(alert_news.marks(home)),
        delivering=alert_news.is_delivering(home),
    )
