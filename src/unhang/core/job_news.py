"""What an agent that has started a job and does other things is told of it: it needs an answer, is stuck, has ended.

Made from one event each, in words that are unhang's; what a job or an agent said stands in quotation marks.
"""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, plain_text, values
from unhang.core.alerts.kinds import ENDS, kind_of
from unhang.core.durations import human_ms
from unhang.core.limits import LIMIT_OF_REASON, named
from unhang.core.notices import ERROR, INFO, NOTICE, WARNING
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CANCELLED = "cancelled"
_OVER = ENDS | {CANCELLED}
_LEVEL = {"stuck": NOTICE, "finished": INFO, CANCELLED: INFO, "failed": ERROR, "timeout": ERROR, "lost": ERROR}
_LONGEST = 200
_MOST_LEFT = 2


class News(Record):
    """One thing to be told. `text` continues a sentence that begins with the job: `needs input: "Name? "`."""

    seq: int
    kind: str
    text: str

    @property
    def ends(self) -> bool:
        """Return whether the job is over."""
        return self.kind in _OVER

    @property
    def failed(self) -> bool:
        """Return whether the job is over and its last lines explain why."""
        return self.kind in ("failed", "timeout", "lost")

    @property
    def level(self) -> str:
        """Return how urgent it is, in the words of log messages."""
        return _LEVEL.get(self.kind, WARNING)


def newest(events: Iterable[ev.Event], before: News | None = None) -> News | None:
    """Return what is left to be told after these events, of which each makes up for what came before it.

    None: nothing.
    """
    found = before
    for event in events:
        kind = _kind(event)
        if kind == "recovered" or (found is not None and not found.ends and _is_life(event)):
            found = None
        elif kind is not None:
            found = News(int(event.get("seq") or 0), kind, _text(kind, event))
    return found


def _kind(event: ev.Event) -> str | None:
    if event.get("type") == ev.EXITED and event.get("phase") == "cancelled":
        return CANCELLED
    return kind_of(event)


def _is_life(event: ev.Event) -> bool:
    if event.get("type") == ev.OUTPUT:
        return bool(event.get("alive", True))
    return bool(event.get("type") == ev.AGENT and event.get("decision"))


def _text(kind: str, event: ev.Event) -> str:
    why = _reason(event)
    match kind:
        case "needs_input":
            return f"needs input: {_quoted(event.get('prompt') or event.get('message'))}"
        case "needs_approval":
            return f"needs approval: {_quoted(event.get('request') or event.get('message'))}"
        case "stuck":
            return f"is stuck: {why or 'no output and no progress'}"
        case "warning":
            left = values.number(event.get("willAbortInMs"))
            limit = LIMIT_OF_REASON.get(str(event.get("reason")), "idle")
            limit = named(limit, values.text_of(event, "budget", "name"))
            when = f" in {human_ms(round(left))}" if left is not None else ""
            return f"will be ended{when} by its {limit} limit" + (f": {why}" if why else "")
        case "finished":
            return "finished with 0" + _after(event) + _left(event)
        case "failed" if isinstance(event.get("exitCode"), int):
            return f"finished with {event['exitCode']}" + _after(event) + _left(event)
        case "cancelled":
            return "was cancelled" + _after(event)
    return f"{'was lost' if kind == 'lost' else 'was ended'}: {_quoted(event.get('message'))}"


def _after(event: ev.Event) -> str:
    took = values.number(event.get("durationMs"))
    return "" if took is None else f" after {human_ms(round(took))}"


def _left(event: ev.Event) -> str:
    """What it left running, and that it was ended: a server that went to the background does not serve any more."""
    if not event.get("leaked"):
        return ""
    left = [_quoted(each["command"]) for each in values.mappings_of(event, "leftovers") if each.get("command")]
    ended = "ended" if not event.get("survivors") else "not ended by SIGKILL"
    return f"; left running and {ended}: {', '.join(left[:_MOST_LEFT])}" if left else ""


def _reason(event: ev.Event) -> str:
    found = (values.mapping(event.get("diagnosis")) or {}).get("reason")
    return _quoted(found) if isinstance(found, str) and found else ""


def _quoted(text: object) -> str:
    return plain_text.quoted(mask.line(str(text or "")), _LONGEST)
