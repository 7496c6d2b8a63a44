"""How long things may take, and how much may be done about it."""

from __future__ import annotations

from fnmatch import fnmatchcase

from unhang.core.limit_request import read_duration
from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BASH = "Bash"
# Claude Code's own default and maximum for a command, after which it moves it to the background by itself.
BASH_DEFAULT = 120.0
BASH_MARGIN = 60.0
# The first pattern that fits decides; what a person gives is asked before these.
DEFAULT_TOOLS: tuple[tuple[str, float | None], ...] = (
    ("WebFetch", 180.0),
    ("WebSearch", 600.0),
    ("mcp__*", 1800.0),
)
WARN_SHARE = 0.2


class Limits(Record):
    """Seconds; None is off."""

    turn: float | None = 1800.0  # busy without a finished step
    total: float | None = None  # busy at all, whatever it does
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
    dry_run: bool = False  # say what would be done, do nothing

    def of_tool(self, tool: str, given: Mapping[str, Any]) -> float | None:
        """None: no limit of its own, only the turn's."""
        for pattern, seconds in self.tools:
            if fnmatchcase(tool, pattern):
                return seconds
        if tool == BASH:
            return bash_timeout(given) + BASH_MARGIN
        for pattern, seconds in DEFAULT_TOOLS:
            if fnmatchcase(tool, pattern):
                return seconds
        return None

    def lead(self, limit: float) -> float:
        """How long before the limit the warning comes; never more than half of it."""
        return min(limit * WARN_SHARE if self.warn is None else self.warn, limit / 2)


def bash_timeout(given: Mapping[str, Any]) -> float:
    """What the call asked for itself, in seconds (the tool takes milliseconds)."""
    asked = given.get("timeout")
    if isinstance(asked, bool) or not isinstance(asked, (int, float)) or not 0 < asked < 1e9:
        return BASH_DEFAULT
    return asked / 1000


def duration(text: str, name: str) -> float | None:
    """Seconds; None for off."""
    return read_duration(name, text) or None


def tool_limit(text: str) -> tuple[str, float | None]:
    """`mcp__slow__*=5m`"""
    pattern, equals, value = text.rpartition("=")
    if not equals or not pattern.strip():
        raise UsageError(f"--limit takes PATTERN=DURATION, as WebFetch=3m or 'mcp__slow__*=off': {text!r}")
    return pattern.strip(), duration(value, f"--limit {pattern.strip()}")
