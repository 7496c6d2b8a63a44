"""Which events are the occasion for which kind of alert. Small, because every keeper loads it."""

from __future__ import annotations

from unhang.core import events as ev

# in the order in which a person should look at them
KINDS = (
    "needs_approval",
    "needs_input",
    "gave_up",
    "warning",
    "lost",
    "timeout",
    "stuck",
    "failed",
    "recovered",
    "finished",
)
URGENT, NORMAL, LOW = SEVERITIES = ("urgent", "normal", "low")
SEVERITY = {
    "needs_approval": URGENT,
    "needs_input": URGENT,
    "gave_up": URGENT,
    "warning": URGENT,
    "lost": URGENT,
    "timeout": NORMAL,
    "stuck": NORMAL,
    "failed": NORMAL,
    "recovered": LOW,
    "finished": LOW,
}
# After these the job is over: there is nothing left to resolve.
ENDS = frozenset({"lost", "timeout", "failed", "finished"})
_OF_WATCHDOG = {"needs_input": "needs_input", "stuck": "stuck", "warning": "warning", "resumed": "recovered"}
_OF_AGENT = {"needs_approval": "needs_approval", "needs_input": "needs_input", "stuck": "stuck"}
_OF_END = {"completed": "finished", "failed": "failed", "timed_out": "timeout", "lost": "lost"}
_GOES_ON = ("busy", "background")
_OF_SESSION = {"gave_up": "gave_up", "hung": "stuck", "waiting": "needs_input", "recovered": "recovered"}


def kind_of(event: ev.Event) -> str | None:
    """Return the kind of alert that an event is the occasion for; None: for no alert."""
    phase = str(event.get("phase"))
    match event.get("type"):
        case ev.WATCHDOG:
            if phase == "extended" and event.get("asked"):
                return "recovered"  # a person has answered the warning
            return None if ev.goes_on_by_itself(event) else _OF_WATCHDOG.get(phase)
        case ev.AGENT:
            if event.get("decision"):
                return "recovered"  # what it asked for is decided
            if phase == "needs_approval" and not event.get("request"):
                return None  # it says that it waits; what it asks for comes next, if a person has to decide at all
            return _OF_AGENT.get(phase)
        case ev.EXITED:
            return _OF_END.get(phase)
        case "watch":
            # a person has answered; who dismissed the question, and left it at that, need not be told
            return "recovered" if event.get("answered") and phase in _GOES_ON else _OF_SESSION.get(phase)
    return None


def settles(event: ev.Event) -> bool:
    """Return whether all that came before is over with this event: nothing of it needs to be told any more."""
    if event.get("type") == "watch":
        return event.get("phase") == "gone" or bool(event.get("answered"))
    return event.get("type") == ev.EXITED


def is_news(event: ev.Event) -> bool:
    """Return whether the deliverer has to know of an event."""
    return settles(event) or kind_of(event) is not None
