"""Which events give a caller who waits something to decide: its wait is over then, although the job goes on.

A prompt waits for an answer. A stall whose cause is certain will not go away by itself. A warning leaves time for an
extension, unless so little of it is left that no caller could use it.
"""

from __future__ import annotations

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.view import View

# A caller that is a model needs seconds to decide: with less time left, it waits for the end.
LEAST_TIME_MS = 10_000


def decides(event: ev.Event) -> bool:
    """Return whether a caller who waits should be told of this event at once."""
    if event.get("type") != ev.WATCHDOG:
        return False
    phase = event.get("phase")
    if phase == "stuck":
        return (event.get("diagnosis") or {}).get("state") == "hung"
    if phase == "warning":
        return int(event.get("willAbortInMs") or 0) >= LEAST_TIME_MS
    return phase == "needs_input"


def still_open(event: ev.Event, view: View) -> bool:
    """Return whether what an event asked to decide is still to be decided.

    `view` knows the events that came after it.
    """
    if view.ended or view.phase == "stopping":
        return False
    if event.get("phase") == "needs_input":
        return view.needs_input is not None
    if event.get("phase") == "warning" and event.get("reason") == "exec_timeout":
        return True  # output does not move the hard limit
    return view.in_doubt
