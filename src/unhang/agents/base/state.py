"""What every protocol keeps of its agent: the phase that it is in, its last sign of life, the pace of its events."""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A reply comes in thousands of pieces: each is a sign of life, one in two seconds is an event.
PREVIEW_EVERY = 2.0


class AgentState:
    """The state of an agent that is told its messages and the time; a protocol says what they mean."""

    def __init__(self, now: float = 0.0) -> None:
        self.phase = "starting"
        self._heard = now  # the last sign of life
        self._shown = float("-inf")

    def _now(self, phase: str, text: str, method: str, *, alive: bool = False, **fields: Any) -> AgentUpdate:
        """Return the update of a phase that the agent is in from now on."""
        self.phase = phase
        return AgentUpdate(phase, text, method, alive, fields=fields)

    def _is_due(self, now: float, *, news: bool = False) -> bool:
        """Return whether a piece of talk is an event and not only a sign of life; `news`: it is one in any case."""
        if not news and now - self._shown < PREVIEW_EVERY:
            return False
        self._shown = now
        return True
