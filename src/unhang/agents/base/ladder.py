"""The steps by which a driver has ended its agent, as its events tell of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST = 100


class Ladder:
    """The steps of one attempt, in order, and whether each had its effect."""

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []

    def hear(self, event: dict[str, Any]) -> None:
        """Take in any event of a job; the start of a further attempt begins anew."""
        if event.get("type") == "job/started":
            self._steps = []
        elif event.get("type") == "agent" and event.get("step"):
            self._steps.append({"step": event["step"], "done": event.get("done")})

    def to_json(self) -> list[dict[str, Any]]:
        """Return the newest steps, as a report lists them."""
        return self._steps[-_MOST:]
