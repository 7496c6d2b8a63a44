"""The events of a job → what a caller needs to know about the agent's turn: thread, reply, tokens, error."""

from __future__ import annotations

from unhang.agents.base.ladder import Ladder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_KEPT = ("threadId", "turnId", "turnStatus", "reply", "error", "cause", "suggestions", "hints", "model", "codexVersion")
_COMPACTION = ("compacted", "tokensBefore", "tokensAfter")
_METERED = ("contextTokens", "contextWindow", "occupancy", "totalTokens")
_LISTED = 100  # approvals


def report(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Report what Codex did; `threadId` is null if there never was a thread; `approvals` is everything that was asked,
    and the answer; `ladder` the steps that ended it.
    """
    nothing: dict[str, Any] = {"threadId": None, "turnStatus": None, "reply": None, "error": None}
    found = dict(nothing)
    usage: dict[str, Any] = {}
    approvals: list[dict[str, Any]] = []
    ladder = Ladder()
    for event in events:
        ladder.hear(event)
        if event.get("type") == "job/started":  # or a further attempt, with a thread of its own
            found = dict(nothing)
        if event.get("type") != "agent":
            continue
        # a turn of another thread (an agent of the agent) has its own; the first one is ours
        if found["threadId"] not in (None, event.get("threadId", found["threadId"])):
            continue
        found |= {name: event[name] for name in (*_KEPT, *_COMPACTION) if event.get(name) is not None}
        if event.get("phase") == "metering":
            usage = {name: event.get(name) for name in _METERED if event.get(name) is not None} or usage
        if event.get("decision") is not None:
            approvals.append({"request": event.get("request"), "decision": event["decision"], "by": event.get("by")})
    found["usage"] = usage or None
    found["approvals"] = approvals[-_LISTED:]
    found["ladder"] = ladder.to_json()
    if found.get("turnStatus") == "completed":
        found["error"] = None
    return found
