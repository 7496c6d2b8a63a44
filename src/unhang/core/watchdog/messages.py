"""The events of the watchdog's notices, with their messages for people."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core.durations import human
from unhang.core.limits import TIMEOUT_REASON
from unhang.core.notices import because
from unhang.core.watchdog import actions as act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.watchdog.actions import Notice


def event_of(notice: Notice, *, since: str, diagnosis: dict[str, Any] | None, job_id: str) -> ev.Event:
    """Return the event of a notice. `since` is the time of the last sign of life, for people."""
    match notice:
        case act.Stuck(silent):
            text = f"No output and no progress for {human(silent)}.{because(diagnosis)} No action taken yet."
            return ev.watchdog("stuck", text, stallMs=ev.ms(silent), since=since, diagnosis=diagnosis)
        case act.Quiet(silent, reason):
            text = f"No output for {human(silent)}, but it is working: {reason or 'the tree moves'}."
            return ev.watchdog("quiet", text, stallMs=ev.ms(silent), since=since, diagnosis=diagnosis)
        case act.Resumed(silent, asked):
            text = "Input was sent." if asked else f"Output again after {human(silent)}."
            return ev.watchdog("resumed", text, idleMs=ev.ms(silent), asked=asked or None)
        case act.Warned(tier, elapsed, left):
            return _warning(tier, elapsed, left, since, diagnosis, job_id)
        case act.Extended(tier, left, reason, asked):
            text = f"The {tier} limit is now {human(left)} away: {reason}."
            return ev.watchdog("extended", text, willAbortInMs=ev.ms(left), reason=reason, tier=tier, asked=asked)
        case act.LimitReached(tier, elapsed):
            what = "No sign of life for" if tier == act.IDLE else "Still running after"
            text = f"{what} {human(elapsed)} ({tier} limit): ending it.{because(diagnosis)}"
            key = "idleMs" if tier == act.IDLE else "wallClockMs"
            fields = {key: ev.ms(elapsed), "reason": TIMEOUT_REASON[tier], "since": since}
            return ev.watchdog("timeout", text, diagnosis=diagnosis, **fields)


def _warning(
    tier: str, elapsed: float, left: float, since: str, diagnosis: dict[str, Any] | None, job_id: str
) -> ev.Event:
    more = f"To give it more time: unhang extend {job_id} --{tier} 10m"
    if tier == act.IDLE:
        text = f"No output for {human(elapsed)}. Will abort in {human(left)} unless output resumes."
    else:
        text = f"Running for {human(elapsed)}. Will abort in {human(left)} at its hard limit."
    return ev.watchdog(
        "warning",
        f"{text}{because(diagnosis)} {more}",
        idleMs=ev.ms(elapsed) if tier == act.IDLE else None,
        wallClockMs=ev.ms(elapsed) if tier == act.HARD else None,
        willAbortInMs=ev.ms(left),
        reason=TIMEOUT_REASON[tier],
        since=since,
        diagnosis=diagnosis,
    )
