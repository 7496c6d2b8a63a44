"""The events of a job → what a caller needs to know about the agent's turn: session, text, plan, tools, error."""

from __future__ import annotations

from unhang.agents.base.ladder import Ladder
from unhang.core.values import count_of, id_of, mapping_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_KEPT = ("sessionId", "stopReason", "text", "error", "cause", "suggestions", "usage", "plan", "unfinished")
_SELF = {"agentName": "name", "agentVersion": "version", "agentTitle": "title", "protocolVersion": "protocolVersion"}
_METERED = ("contextTokens", "contextWindow", "occupancy", "cost")
_TOOLS = 100
_LISTED = 100  # permissions


def report(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Report what the agent did; `budget`: the one that was used up (null: none was); `ladder`: the steps that ended
    it, and whether each did.
    """
    found: dict[str, Any] = {}
    tools: dict[str, dict[str, Any]] = {}
    permissions: list[dict[str, Any]] = []
    ladder = Ladder()
    running: dict[str, Any] | None = None
    fired: dict[str, Any] | None = None
    for event in events:
        ladder.hear(event)
        if event.get("type") == "job/started":  # or a further attempt, with a session of its own
            found, running, fired = _nothing(), None, None
            tools, permissions = {}, []
        elif event.get("type") == "job/exited":
            fired = _fired(event, running)
        if event.get("type") != "agent":
            continue
        found |= {name: event[name] for name in _KEPT if event.get(name) is not None}
        found |= {name: event[given] for given, name in _SELF.items() if event.get(given) is not None}
        if event.get("phase") == "metering":
            found["usage"] = mapping_of(found, "usage") | {name: event[name] for name in _METERED if name in event}
        if event.get("phase") == "stopping" and mapping_of(event, "budget"):
            running = {"name": None, "limitMs": None, "elapsedMs": None} | mapping_of(event, "budget")
        if id_of(event, "toolCallId"):
            tools[id_of(event, "toolCallId")] = _tool(event)
        if event.get("decision") is not None:
            permissions.append({"request": event.get("request"), "decision": event["decision"], "by": event.get("by")})
    found = _nothing() | found
    found |= {"toolCalls": list(tools.values())[-_TOOLS:], "permissions": permissions[-_LISTED:]}
    return found | {"ladder": ladder.to_json(), "budget": fired}


def _nothing() -> dict[str, Any]:
    names = ("name", "version", "sessionId", "stopReason", "text", "usage", "plan", "error")
    return dict.fromkeys(names)


def _tool(event: dict[str, Any]) -> dict[str, Any]:
    named = {"toolCallId": "id", "title": "title", "toolKind": "kind", "toolStatus": "status", "command": "command"}
    return {name: event.get(given) for given, name in named.items()} | {"ageMs": event.get("ageMs")}


def _fired(last: dict[str, Any], running: dict[str, Any] | None) -> dict[str, Any] | None:
    """The end says which of the two limits it was; whose turn it was under the idle limit, its driver has said."""
    reason = last.get("timeoutReason")
    if reason == "exec_timeout":
        elapsed = count_of(last, "error", "wallClockMs")
        elapsed = count_of(last, "durationMs") if elapsed is None else elapsed
        return {"name": "hard", "limitMs": None, "elapsedMs": elapsed}
    if reason != "no_output_timeout":
        return None
    return running or {"name": "idle", "limitMs": None, "elapsedMs": count_of(last, "error", "idleMs")}
