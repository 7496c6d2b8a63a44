"""Token usage → how full the context is, and a warning when it is nearly so."""

from __future__ import annotations

from unhang.agents.base.context_usage import ContextWarning, usage_text
from unhang.agents.base.update import AgentUpdate
from unhang.core.values import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message


class CodexUsage:
    """The tokens of a thread."""

    def __init__(self) -> None:
        self.latest: Message = {}  # the newest: occupied, window, occupancy, total, …
        self._warning = ContextWarning("unhang codex compact THREAD")

    @property
    def occupied(self) -> int | None:
        """Return the tokens in the context now."""
        return count_of(self.latest, "contextTokens")

    def read(self, params: Message, method: str) -> list[AgentUpdate]:
        """Take what a thread has used: `last` is what is in the context now; `total` is everything the thread has ever
        cost.
        """
        usage = params.get("tokenUsage")
        last, window = count_of(usage, "last", "totalTokens"), count_of(usage, "modelContextWindow")
        total = count_of(usage, "total", "totalTokens")
        share = round(last / window, 4) if last is not None and window else None
        self.latest = {"contextTokens": last, "contextWindow": window, "occupancy": share, "totalTokens": total}
        parts = {name: count_of(usage, "last", name) for name in ("inputTokens", "cachedInputTokens", "outputTokens")}
        found = [AgentUpdate("metering", usage_text(last, window, share), method, fields=self.latest | parts)]
        return found if share is None else [*found, *self._warning.updates(share, method)]
