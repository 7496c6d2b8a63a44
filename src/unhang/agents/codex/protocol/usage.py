"""Token usage → how full the context is, and a warning when it is nearly so."""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate
from unhang.core.values import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.values import Message

LEVELS = (0.80, 0.95)


class CodexUsage:
    def __init__(self) -> None:
        self.latest: Message = {}  # the newest: occupied, window, occupancy, total, …
        self._warned = 0.0

    @property
    def occupied(self) -> int | None:
        return count_of(self.latest, "contextTokens")

    def read(self, params: Message, method: str) -> list[AgentUpdate]:
        """`last` is what is in the context now; `total` is everything the thread has ever cost."""
        usage = params.get("tokenUsage")
        last, window = count_of(usage, "last", "totalTokens"), count_of(usage, "modelContextWindow")
        total = count_of(usage, "total", "totalTokens")
        share = round(last / window, 4) if last is not None and window else None
        self.latest = {"contextTokens": last, "contextWindow": window, "occupancy": share, "totalTokens": total}
        parts = {name: count_of(usage, "last", name) for name in ("inputTokens", "cachedInputTokens", "outputTokens")}
        text = f"{last if last is not None else '?'} tokens in the context"
        if share is not None:
            text += f", {share:.0%} of {window}"
        said = [AgentUpdate("metering", text + ".", method, fields=self.latest | parts)]
        if share is not None:
            said += self._warn(share, method)
        return said

    def _warn(self, share: float, method: str) -> list[AgentUpdate]:
        reached = max((level for level in LEVELS if share >= level), default=0.0)
        already, self._warned = self._warned, reached  # lower again after a compaction: the next one warns anew
        if reached <= already:
            return []
        text = f"The context is {share:.0%} full: `unhang codex compact THREAD` makes room."
        return [AgentUpdate("warning", text, method, fields={"occupancy": share, "level": reached})]
