"""Why Codex is silent: the sentences that both of its drivers say. Pure."""

from __future__ import annotations

from unhang.agents.base.update import preview
from unhang.core.diagnosis.time_left import for_time
from unhang.core.durations import human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# So many of the calls in flight are named.
_NAMED = 4


def reconnecting(times: int, seconds: float, cause: str) -> str:
    """Return the sentence of a Codex that has tried so many times, for so long, to reach the model."""
    often = f"{times} times" if times > 1 else "once"
    return f"Codex cannot reach the model and keeps reconnecting ({often} in {human(seconds)}): {preview(cause, 500)}"


def silent_tool(names: Iterable[str], seconds: float) -> str:
    """Return the sentence of tool calls, by their names, that have said nothing for so long."""
    named = ", ".join(preview(name, 120) for name in list(names)[:_NAMED])
    return f"a Codex tool call has produced no output {for_time(seconds)}" + (f": {named}" if named else "")


def silent_model(seconds: float) -> str:
    """Return the sentence of a Codex to which the model has said nothing for so long."""
    return f"Codex has had nothing from the model {for_time(seconds)}"
