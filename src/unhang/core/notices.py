"""Who is shown an event at the moment it happens, and at which level. The event log has all of them.

`AUDIENCES` has one line for every type and phase of `events.PHASES`; a test compares the two.
"""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INFO, NOTICE, WARNING, ERROR = "info", "notice", "warning", "error"


class Audience(Record):
    """Who is shown the events of one phase. An empty level means: not shown there."""

    terminal: str = ""  # on the stderr of `unhang run`, and of an agent's command with --wait
    client: str = ""  # as a log message and a new progress line to an MCP client, for the person in front of it
    model: bool = True  # among the last events of a result, which a model reads
    needs_person: bool = False  # the job waits until a person answers
    ends_turn: bool = False  # the agent's turn is over, or is being ended


_LOG_ONLY = Audience(model=False)
_RESULT_ONLY = Audience()

AUDIENCES: dict[str, dict[str, Audience]] = {
    ev.STARTED: {"running": _LOG_ONLY},
    ev.OUTPUT: {"running": _LOG_ONLY},
    ev.HEARTBEAT: {"running": _RESULT_ONLY},
    ev.WATCHDOG: {
        "stuck": Audience(terminal=WARNING, client=NOTICE),
        "needs_input": Audience(terminal=WARNING, client=WARNING, needs_person=True),
        "quiet": Audience(terminal=WARNING),
        "warning": Audience(terminal=WARNING, client=WARNING),
        "extended": Audience(terminal=WARNING),
        "resumed": _RESULT_ONLY,
        "timeout": Audience(terminal=ERROR, client=ERROR),
        "slow": Audience(terminal=WARNING),
        "retry": Audience(terminal=WARNING),
        "interrupted": Audience(terminal=WARNING),
        "paused": _RESULT_ONLY,  # by the person who sees it: the shell says so
        "continued": _RESULT_ONLY,
    },
    ev.AGENT: {
        "starting": _RESULT_ONLY,
        "thinking": _RESULT_ONLY,
        "running": Audience(terminal=INFO),
        "editing": Audience(terminal=INFO),
        "verifying": Audience(terminal=INFO),
        "compacting": Audience(terminal=INFO),
        "metering": _RESULT_ONLY,
        "warning": Audience(terminal=INFO),
        "needs_approval": Audience(terminal=INFO, needs_person=True),
        "needs_input": Audience(needs_person=True),
        "stuck": Audience(terminal=WARNING, client=NOTICE),
        "stopping": Audience(terminal=WARNING, ends_turn=True),
        "completed": Audience(ends_turn=True),
        "failed": Audience(ends_turn=True),
        "idle": _RESULT_ONLY,
        "unknown": _RESULT_ONLY,
    },
    # of the signals only those of a limit: after a cancel the person knows what was asked for
    ev.SIGNAL: {"stopping": Audience(terminal=WARNING)},
    ev.STORE: {"warning": _RESULT_ONLY},
    # how a job ended is said once, by what shows the result
    ev.EXITED: dict.fromkeys(ev.ENDINGS, _RESULT_ONLY),
}


def audience(event: ev.Event) -> Audience:
    """Return who is shown this event; an event that a newer unhang wrote is shown in results only."""
    found = audience_of(str(event.get("type")), str(event.get("phase")))
    if event.get("type") == ev.SIGNAL and event.get("reason") not in ("idle", "hard"):
        return _RESULT_ONLY
    return found


def because(diagnosis: dict[str, Any] | None) -> str:
    """Return the part of a notice's message that gives the reason; empty without one."""
    return f" Why: {diagnosis['reason']}." if diagnosis and diagnosis.get("reason") else ""


def audience_of(kind: str, phase: str) -> Audience:
    """Return who is shown events of this type and phase."""
    return AUDIENCES.get(kind, {}).get(phase, _RESULT_ONLY)
