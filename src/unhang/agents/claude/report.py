"""The events of a job → what a caller needs to know about the agent's turn: session, result, tokens, error."""

from __future__ import annotations

from unhang.agents.base.ladder import Ladder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_KEPT = (
    "sessionId", "result", "isError", "terminalReason", "costUsd", "numTurns", "permissionDenials", "results", "usage",
    "error", "cause", "suggestions", "model", "claudeVersion",
)  # fmt: skip
# what one `result` says belongs together: a later one replaces all of it
_OF_A_RESULT = ("result", "isError", "terminalReason", "costUsd", "numTurns", "permissionDenials", "error")


def report(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Report what Claude did; `sessionId` is null if there never was a session; `isError` is null if no turn came to
    its end; `ladder` are the steps that ended it.
    """
    nothing: dict[str, Any] = {"sessionId": None, "result": None, "isError": None, "terminalReason": None}
    nothing |= {"usage": None, "costUsd": None, "numTurns": None, "permissionDenials": [], "error": None}
    found = dict(nothing)
    ladder = Ladder()
    for event in events:
        ladder.hear(event)
        if event.get("type") == "job/started":  # or a further attempt, with a session of its own
            found = dict(nothing)
        if event.get("type") != "agent" or event.get("agentId"):
            continue
        if event.get("phase") == "warning":  # a retry or a denial is not yet how it ended
            found["sessionId"] = event.get("sessionId") or found["sessionId"]
            continue
        if event.get("isError") is not None:
            found |= {name: nothing[name] for name in _OF_A_RESULT}
        found |= {name: event[name] for name in _KEPT if event.get(name) is not None}
    return found | {"ladder": ladder.to_json()}
