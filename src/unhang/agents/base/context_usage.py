"""How full the context of a model is: a text for people, and a warning when it is nearly so. Pure."""

from __future__ import annotations

from unhang.agents.base.update import AgentUpdate

LEVELS = (0.80, 0.95)


def usage_text(tokens: int | None, window: int | None, share: float | None) -> str:
    """Return the tokens in the context, and which part of the window that is."""
    text = f"{'?' if tokens is None else tokens} tokens in the context"
    return f"{text}." if share is None else f"{text}, {share:.0%} of {window}."


class ContextWarning:
    """Warns once at each level. `remedy`: the command that makes room."""

    def __init__(self, remedy: str) -> None:
        self._remedy = remedy
        self._warned = 0.0

    def updates(self, share: float, method: str) -> list[AgentUpdate]:
        """Return the warning, if a level was reached that was not reached before."""
        reached = max((level for level in LEVELS if share >= level), default=0.0)
        already, self._warned = self._warned, reached  # lower again after a compaction: the next one warns anew
        if reached <= already:
            return []
        text = f"The context is {share:.0%} full: `{self._remedy}` makes room."
        return [AgentUpdate("warning", text, method, fields={"occupancy": share, "level": reached})]
