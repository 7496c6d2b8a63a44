"""Token usage of Claude Code → how full the context is, and a warning when it is nearly so."""

from __future__ import annotations

from unhang.agents.base.context_usage import ContextWarning, usage_text
from unhang.agents.base.update import AgentUpdate
from unhang.core.values import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message

_IN_CONTEXT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeUsage:
    """The tokens of a session."""

    def __init__(self) -> None:
        self.latest: Message = {}  # the newest: contextTokens, and what the result adds to it
        self._asked = 0  # what went into the newest request
        self._warning = ContextWarning("unhang claude resume SESSION /compact")

    def start(self, usage: object) -> None:
        """Take a message_start, which tells what is in the context before the answer."""
        self._asked = sum(count_of(usage, name) or 0 for name in _IN_CONTEXT)

    def delta(self, usage: object, method: str) -> list[AgentUpdate]:
        """Take a message_delta, which tells how long the answer was."""
        output = count_of(usage, "output_tokens") or 0
        if not self._asked:
            return []
        self.latest = self.latest | {"contextTokens": self._asked + output}
        return [AgentUpdate("metering", self._text(), method, fields=dict(self.latest) | {"outputTokens": output})]

    def result(self, message: Message, model: str, method: str) -> list[AgentUpdate]:
        """Take a result: only here is said how large the context may be."""
        window = count_of(message, "modelUsage", model, "contextWindow")
        total = sum((count_of(message, "usage", name) or 0) for name in (*_IN_CONTEXT, "output_tokens"))
        share = round(self.latest["contextTokens"] / window, 4) if window and "contextTokens" in self.latest else None
        known = {"contextWindow": window, "occupancy": share, "totalTokens": total or None}
        self.latest = self.latest | {name: value for name, value in known.items() if value is not None}
        if share is None:
            return []
        found = [AgentUpdate("metering", self._text(), method, fields=dict(self.latest))]
        return [*found, *self._warning.updates(share, method)]

    def _text(self) -> str:
        return usage_text(*(self.latest.get(name) for name in ("contextTokens", "contextWindow", "occupancy")))
