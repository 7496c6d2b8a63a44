"""The limits of a session: how long a tool, a turn and the API may take, and how many steps may be taken."""

from __future__ import annotations

from fnmatch import fnmatchcase

from unhang.agents.claude.protocol.tool_limits import BASH, bash_limit, usual_limit
from unhang.core.limit_request import read_duration
from unhang.core.record import Record
from unhang.core.values import number_of
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WARN_SHARE = 0.2
# Milliseconds. A call that asks for more than a week is taken as one that did not ask.
_LONGEST_TIMEOUT = 1e9


class SessionLimits(Record):
    """All limits and pauses, in seconds; None: off."""

    turn: float | None = 1800.0  # busy without a finished step
    total: float | None = None  # busy at all, whatever happens
    api: float | None = 600.0  # busy, no tool runs, nothing comes
    tools: tuple[tuple[str, float | None], ...] = ()
    warn: float | None = None  # the lead of a warning; None: a fifth of the limit
    hands_off: float = 30.0  # after the last key of a person
    verify: float = 6.0  # for a step to show an effect
    cooldown: float = 15.0  # between two steps, and before a held one is tried again
    retry: float = 1800.0  # after giving up
    escapes: int = 2  # tried for one hang
    per_session: int = 8  # steps an hour
    per_machine: int = 40
    allow_clear: bool = False
    clear_after: int = 2  # hangs ended by Escape with no finished turn between them
    allow_restart: bool = False
    dry_run: bool = False  # report what would be done, do nothing
    go_on: bool = False  # after Escape, let an unattended session continue by itself
    on_hung: str = "wait"  # "end": a command that is proved to wait without an end goes before its limit

    def of_tool(self, tool_name: str, tool_input: Mapping[str, Any]) -> float | None:
        """Return the limit of one call; None: only the turn's limit holds. The first pattern that matches decides."""
        for pattern, seconds in self.tools:
            if fnmatchcase(tool_name, pattern):
                return seconds
        if tool_name == BASH:
            asked = number_of(tool_input, "timeout")
            return bash_limit(asked if asked is not None and asked < _LONGEST_TIMEOUT else None)
        return usual_limit(tool_name)

    def follows_its_own(self, tool_name: str) -> bool:
        """Return whether the limit of such a call comes after a timeout that Claude Code itself has for it."""
        return tool_name == BASH and not any(fnmatchcase(tool_name, pattern) for pattern, _ in self.tools)

    def lead(self, limit: float) -> float:
        """Return how long before the limit the warning comes; never more than half of it."""
        return min(limit * WARN_SHARE if self.warn is None else self.warn, limit / 2)


def duration(text: str, name: str) -> float | None:
    """Return seconds; None for off."""
    return read_duration(name, text) or None


def tool_limit(text: str) -> tuple[str, float | None]:
    """Return a pattern and its limit, as in `mcp__slow__*=5m`."""
    pattern, equals, value = text.rpartition("=")
    if not equals or not pattern.strip():
        raise UsageError(f"--limit must be PATTERN=DURATION, such as WebFetch=3m or 'mcp__slow__*=off'; not {text!r}")
    return pattern.strip(), duration(value, f"--limit {pattern.strip()}")
