"""Recorded hooks and status files as facts, with times that a change of the wall clock cannot falsify.

An event that is read as it happens gets the monotonic time of its arrival. Events from before the watcher came have
only wall-clock stamps. These are believed if the wall clock was not set since the session began: the start is known by
the wall clock (`startedAt`) and by the kernel (start ticks). If the two disagree, everything counts from now on: a hang
is then noticed later, and no healthy session is touched.
"""

from __future__ import annotations

from unhang.core.values import id_of, items_of, mapping_of, number_of, text_of
from unhang.procs import clock, identity
from unhang.sessions.claude.status_file import StatusFile
from unhang.sessions.state import facts
from unhang.sessions.state.budget import HOUR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The longest time between the start of the process and the moment that it records as its start.
_DIFFERENCE = 30.0


def has_true_stamps(status: StatusFile | None) -> bool:
    """Return whether the stamps of this session can be believed."""
    if status is None or not status.started:
        return False
    return abs((clock.wall() - status.started / 1000) - identity.age(status.start)) < _DIFFERENCE


def hook(event: dict[str, Any], at: float) -> facts.Hook:
    """Return a recorded hook, as a fact."""
    tasks, moved = items_of(event, "backgroundTasks"), number_of(event, "movedAfterMs")
    return facts.Hook(
        method=text_of(event, "method", most=80),
        at=at,
        tool_name=text_of(event, "toolName", most=300),
        tool_use_id=id_of(event, "toolUseId"),
        tool_input=mapping_of(event, "toolInput"),
        agent_id=id_of(event, "agentId"),
        background_tasks=_running(tasks) if isinstance(event.get("backgroundTasks"), list) else None,
        source=text_of(event, "source", most=80) or text_of(event, "reason", most=80),
        moved_after=None if moved is None else moved / 1000,
    )


def _running(tasks: list[Any]) -> int:
    return sum(not isinstance(task, dict) or task.get("status", "running") == "running" for task in tasks)


def wall_of(event: dict[str, Any]) -> float:
    """Return when the event was recorded, in seconds of the wall clock; 0 if it cannot be read."""
    try:
        return clock.parse(text_of(event, "ts", most=40))
    except (ValueError, OverflowError, OSError):
        return 0.0


def facts_so_far(events: list[dict[str, Any]], status: StatusFile | None, born: float) -> list[facts.Fact]:
    """Return what happened before the watcher came, in order: the status stands at its place among the hooks."""
    now, wall = clock.monotonic(), clock.wall()
    believe = has_true_stamps(status)

    def when(stamp: float) -> float:
        return min(now, max(born, now - (wall - stamp))) if believe else now

    told: list[facts.Fact] = []
    pending = (
        None
        if status is None
        else facts.Status(status.status, status.stamp, when(status.stamp / 1000), status.waiting_for)
    )
    for event in events:
        stamp = wall_of(event)
        if pending is not None and status is not None and stamp >= status.stamp / 1000:
            told.append(pending)
            pending = None
        told.append(hook(event, when(stamp)).replace(moved_after=None))  # an earlier watcher has said it
    if pending is not None:
        told.append(pending)
    return told


def steps(events: list[dict[str, Any]]) -> list[float]:
    """Return when earlier watchers took steps within the last hour. A time in the future counts as now."""
    now, wall = clock.monotonic(), clock.wall()
    found: list[float] = []
    for event in events:
        age = wall - wall_of(event)
        if event.get("phase") == "step" and age < HOUR:
            found.append(now - max(0.0, age))
    return found
