"""What the model is told after a step. Else it reads that the user refused its call, or only an exit code."""

from __future__ import annotations

from unhang.agents.claude.protocol.tool_limits import BASH
from unhang.core.durations import human
from unhang.sessions.state import clocks
from unhang.sessions.state.clocks import Clock

_WHO = "unhang, a watchdog on this machine, and not the user,"
_CONTINUE = "Continue with the task."


def note(clock: Clock, why: str, now: float) -> str:
    """Return what was ended, after how long, why, and what to do instead."""
    age, because = human(max(0.0, now - clock.since)), f" ({why})" if why else ""
    call = clock.call
    if call is not None and call.tool_name == BASH:
        return (
            f"{_WHO} ended this command after {age}{because}: {call.title()}. "
            "Do not repeat it unchanged: find out what it waited for, or give it a shorter timeout."
        )
    if call is not None and clock.kind in (clocks.TOOL, clocks.AGENT_TOOL):
        return (
            f"{_WHO} ended this call after {age} without an answer{because}: {call.title()}. "
            "Do not repeat it unchanged: try another source or tool, or a shorter timeout."
        )
    if clock.kind == clocks.API:
        return f"{_WHO} interrupted the turn: the API had sent nothing for {age}{because}. The user refused nothing."
    return f"{_WHO} interrupted the turn: it had finished no step for {age}{because}. Go on in smaller steps."


def prompt(told: str) -> str:
    """Return the prompt that lets an unattended session go on."""
    return f"{told} {_CONTINUE}"
