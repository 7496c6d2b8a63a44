"""How long a tool call of Claude Code may take before it counts as hung.

Both the runs without a terminal (`agents.claude`) and the sessions in tmux (`sessions`) read these limits. A tool
without an entry has no limit of its own.
"""

from __future__ import annotations

BASH = "Bash"
# Claude Code's own timeout for a command, and the longest that a call may ask for. After its timeout a command is moved
# into the background, and the call returns.
BASH_DEFAULT, BASH_MOST = 120.0, 600.0
BASH_MARGIN = 60.0
_OWN = {"WebFetch": 180.0, "WebSearch": 600.0}
_MCP_PREFIX, _MCP = "mcp__", 1800.0


def bash_limit(asked_ms: float | None, *, default: float = BASH_DEFAULT, most: float | None = None) -> float:
    """Return the limit of a command that asked for a timeout of so many milliseconds; None: it did not ask for one."""
    asked = default if asked_ms is None or asked_ms <= 0 else asked_ms / 1000
    return (asked if most is None else min(asked, most)) + BASH_MARGIN


def usual_limit(tool: str) -> float | None:
    """Return the limit of any other tool; None: it has none of its own."""
    return _MCP if tool.startswith(_MCP_PREFIX) else _OWN.get(tool)
