"""Which limits run at this moment: what is measured, since when, and when the limit is reached."""

from __future__ import annotations

from unhang.agents.claude.protocol.tool_limits import BASH
from unhang.core.durations import human
from unhang.core.record import Record
from unhang.sessions.state import known as modes
from unhang.sessions.state.calls import ToolCall
from unhang.sessions.state.known import Known
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.traffic import ConnectionPeer, waits_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MCP = "mcp__"
TOOL, AGENT_TOOL, API, TURN, TOTAL = "tool", "agent_tool", "api", "turn", "total"
# Where several limits are reached, the one with the gentlest remedy comes first.
_RANK = {AGENT_TOOL: 1, TOOL: 2, API: 3, TURN: 4, TOTAL: 5}


class Clock(Record):
    """One limit that runs."""

    kind: str
    key: str  # changes whenever the measurement begins anew
    since: float
    limit: float
    at: float  # when the limit is reached
    call: ToolCall | None = None  # the call that is measured, or that is best ended

    @property
    def tool_name(self) -> str:
        """Return the tool of the call; empty: there is none."""
        return "" if self.call is None else self.call.tool_name

    @property
    def is_bash(self) -> bool:
        """Return whether the call that is measured is a Bash command, which can be ended without Escape."""
        return self.tool_name == BASH

    @property
    def rank(self) -> tuple[int, float]:
        """Return the key to sort reached limits by: the one with the gentlest remedy first, then the earliest."""
        return (0 if self.is_bash else _RANK[self.kind], self.at)

    def label(self) -> str:
        """Return what is measured, in words."""
        if self.kind in (TOOL, AGENT_TOOL):
            tool = self.call.title() if self.call is not None else "a tool"
            return f"{tool} of a subagent" if self.kind == AGENT_TOOL else tool
        return {API: "the wait for the API", TURN: "the turn", TOTAL: "the turn"}[self.kind]

    def said(self, now: float) -> str:
        """Return how long it has taken, and its limit, in one sentence."""
        age, limit = human(max(0.0, now - self.since)), human(self.limit)
        if self.kind == API:
            return f"the API has sent nothing for {age} (limit {limit})"
        if self.kind == TURN:
            return f"the turn has finished no step for {age} (limit {limit})"
        return f"{self.label()} has been running for {age} (limit {limit})"

    def waits_for(self, peers: tuple[ConnectionPeer, ...], now: float) -> str:
        """Return what the measured wait is for, as far as connections or the name of the tool show it."""
        name = self.tool_name
        url = "" if self.call is None else self.call.tool_input.get("url", "")
        found = waits_for(peers, now - self.since, _port(url) if isinstance(url, str) else "")
        if not found and name.startswith(_MCP) and self.kind in (TOOL, AGENT_TOOL):
            return f"the MCP server {name.removeprefix(_MCP).partition('__')[0]} has not answered"
        return found


def _port(url: str) -> str:
    """The port that an address names, or implies (WebFetch turns http into https)."""
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    port = host.rpartition(":")[2]
    return port if port.isdecimal() and ":" in host else "443"


def running(
    known: Known, limits: SessionLimits, extended: Mapping[str, float], proved: Mapping[str, float]
) -> list[Clock]:
    """Return the limits that run, given what is known. `proved`: when a command that is proved to hang is ended."""
    mode = known.mode()
    if mode not in (modes.BUSY, modes.BACKGROUND):
        return []
    agents = known.calls.of_agents()
    found = [clock for call in agents if (clock := _of_call(AGENT_TOOL, call, limits, extended, proved)) is not None]
    if mode == modes.BACKGROUND:
        return found
    main = known.calls.main()
    certain = [call for call in main if not call.doubtful]
    found += [clock for call in certain if (clock := _of_call(TOOL, call, limits, extended, proved)) is not None]
    if not certain and limits.api is not None:
        # a call that may still be running has at least its own limit
        limit = max([limits.api, *(limits.of_tool(call.tool_name, call.tool_input) or limits.api for call in main)])
        found.append(Clock(API, f"{API}:{known.sign}", known.sign, limit, known.sign + limit))
    bash = next((call for call in certain if call.tool_name == BASH), None)
    if limits.turn is not None:
        since = max(known.turn_since, known.finished)
        found.append(Clock(TURN, f"{TURN}:{since}", since, limits.turn, since + limits.turn, bash))
    if limits.total is not None:
        since = known.turn_since
        found.append(Clock(TOTAL, f"{TOTAL}:{since}", since, limits.total, since + limits.total, bash))
    return found


def _of_call(
    kind: str, call: ToolCall, limits: SessionLimits, extended: Mapping[str, float], proved: Mapping[str, float]
) -> Clock | None:
    limit = limits.of_tool(call.tool_name, call.tool_input)
    if limit is None:
        return None
    key = f"{kind}:{call.id}:{call.at}"
    at = max(call.at + limit, extended.get(key, 0.0))
    return Clock(kind, key, call.at, limit, min(at, proved.get(key, at)), call)
