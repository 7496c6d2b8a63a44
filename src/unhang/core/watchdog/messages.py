"""The events of the watchdog's notices, with their messages for people."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import values
from unhang.core.durations import human, human_ms
from unhang.core.limits import TIMEOUT_REASON, named
from unhang.core.notices import because
from unhang.core.watchdog import actions as act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.watchdog.actions import Notice


# The field of a notice that says how long it took to come near this limit.
_ELAPSED = {act.IDLE: "idleMs", act.HARD: "wallClockMs"}
# The phases whose message gives the reason of the diagnosis.
GIVE_A_REASON = frozenset({"stuck", "warning", "timeout"})


def event_of(notice: Notice, *, since: str, diagnosis: dict[str, Any] | None, job_id: str) -> ev.Event:
    """Return the event of a notice. `since` is the time of the last sign of life, for people."""
    match notice:
        case act.Stuck(silent):
            event = ev.watchdog("stuck", "", stallMs=ev.ms(silent), since=since, diagnosis=diagnosis)
        case act.Quiet(silent, reason):
            text = f"No output for {human(silent)}, but it is working: {reason or 'the tree moves'}."
            return ev.watchdog("quiet", text, stallMs=ev.ms(silent), since=since, diagnosis=diagnosis)
        case act.Resumed(silent, asked):
            text = "Input was sent." if asked else f"Output again after {human(silent)}."
            return ev.watchdog("resumed", text, idleMs=ev.ms(silent), asked=asked or None)
        case act.Warned(tier, elapsed, left, budget, limit):
            fields = _reached(tier, elapsed, budget, limit) | {"since": since, "willAbortInMs": ev.ms(left)}
            event = ev.watchdog("warning", "", diagnosis=diagnosis, **fields)
        case act.Extended(tier, left, reason, asked, budget):
            why = ", as was asked for" if asked else f": {reason}" if reason else ""
            text = f"The {named(tier, budget)} limit is now {human(left)} away{why}."
            return ev.watchdog("extended", text, willAbortInMs=ev.ms(left), reason=reason, tier=tier, asked=asked)
        case act.LimitReached(tier, elapsed, budget, limit):
            fields = _reached(tier, elapsed, budget, limit)
            event = ev.watchdog("timeout", "", diagnosis=diagnosis, **fields, since=since)
    return event | {"message": message_of(event, job_id)}


def _reached(tier: str, elapsed: float, budget: str, limit: float | None) -> dict[str, Any]:
    fields = {_ELAPSED[tier]: ev.ms(elapsed), "reason": TIMEOUT_REASON[tier]}
    return fields | ({"budget": ev.budget(budget, limit)} if budget else {})


def message_of(event: ev.Event, job_id: str, *, reason: bool = True, more_time: str = "") -> str:
    """Return the message of an event whose phase is in GIVE_A_REASON, made from its fields.

    `reason`: whether it gives the reason of the diagnosis. `more_time`: how a face gives more time; the command line's
    way by default. An event without the fields keeps the message that it has.
    """
    why = because(event.get("diagnosis")) if reason else ""
    tier = act.HARD if event.get("idleMs") is None else act.IDLE
    lasted = values.number(event.get("stallMs" if event["phase"] == "stuck" else _ELAPSED[tier]))
    if lasted is None:
        return str(event.get("message") or "")
    elapsed, left = human_ms(lasted), human_ms(values.number(event.get("willAbortInMs")))
    budget = values.text_of(event, "budget", "name")
    limit = named(tier, budget)
    match event["phase"], tier:
        case "stuck", _:
            return f"No output and no progress for {elapsed}.{why} No action taken yet."
        case "timeout", act.IDLE:
            return f"No sign of life for {elapsed} ({limit} limit): ending it.{why}"
        case "timeout", _:
            return f"Still running after {elapsed} ({tier} limit): ending it.{why}"
        case _, act.IDLE:
            at = f" at its {limit} limit" if budget else ""
            text = f"No output for {elapsed}. Will abort in {left}{at} unless output resumes."
        case _:
            text = f"Running for {elapsed}. Will abort in {left} at its hard limit."
    return f"{text}{why} To give it more time: {more_time or f'unhang extend {job_id} --{tier} 10m'}"
