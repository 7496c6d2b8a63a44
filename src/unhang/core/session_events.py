"""Every event that the stream of a session can have: those of the agent's hooks, and those of the watcher.

Phases are closed where an event is made and open where it is read, as those of a job are (`events.py`).
"""

from __future__ import annotations

from unhang.core.events import check_phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOOK, WATCH = "hook", "watch"

PHASES: dict[str, tuple[str, ...]] = {
    HOOK: (
        "starting",
        "ended",
        "prompted",
        "tool",
        "tool_done",
        "tool_failed",
        "tools_done",
        "waiting",
        "denied",
        "notice",
        "idle",
        "failed",
        "agent",
        "agent_done",
        "compacting",
        "compacted",
        "other",
    ),
    WATCH: (
        "found",
        "busy",
        "idle",
        "waiting",
        "background",
        "unknown",
        "warning",
        "extended",
        "hung",
        "step",
        "effect",
        "held",
        "restored",
        "recovered",
        "gave_up",
        "gone",
        "unwatched",  # recorded by a hook: the watcher is stopped or hangs
    ),
}


def hook(phase: str, method: str) -> dict[str, Any]:
    """Make the event of a hook of the agent; raise InvalidEvent for a phase that there is not."""
    return _made(HOOK, phase, "") | {"method": method}


def watch(phase: str, message: str, session_id: str, **fields: Any) -> dict[str, Any]:
    """Make an event of the watcher; raise InvalidEvent for a phase that there is not."""
    return _made(WATCH, phase, message) | {"sessionId": session_id} | fields


def _made(kind: str, phase: str, message: str) -> dict[str, Any]:
    check_phase(kind, phase, PHASES)
    return {"type": kind, "phase": phase, "message": message}
