"""What a person may do about an alert by a link, and whether the job still asks what the alert told of."""

from __future__ import annotations

from unhang.core.alerts.kinds import kind_of
from unhang.core.attention import APPROVAL, INPUT, MORE_TIME, STUCK, WARNING, attention_of, limit_of
from unhang.core.record import Record
from unhang.core.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from unhang.core import events as ev
    from unhang.core.attention import Attention

EXTEND, ANSWER, APPROVE, DENY, CANCEL = ACTS = ("extend", "answer", "approve", "deny", "cancel")
LABELS = {
    EXTEND: f"{MORE_TIME} more",
    ANSWER: "Answer",
    APPROVE: "Approve",
    DENY: "Deny",
    CANCEL: "End it",
}
# What is typed for a person who approves or denies.
WORDS = {APPROVE: "yes", DENY: "no"}
_OF = {APPROVAL: (APPROVE, DENY, CANCEL), WARNING: (EXTEND, CANCEL), STUCK: (CANCEL,)}


class Question(Record):
    """What a job asked at an event, and whether it still does. `attention` is what it needs a person for now.

    `kind`: of the alert that the event was. `limit`: which one a warning is about.
    """

    kind: str
    attention: Attention | None
    stands: bool
    limit: str = "idle"


def offers(found: Attention | None) -> tuple[str, ...]:
    """Return what a link may do about something that needs a person."""
    if found is None:
        return ()
    if found.kind == INPUT:
        return (ANSWER, CANCEL) if found.answers == "TEXT" else (CANCEL,)  # a password is not typed into a link's page
    return _OF[found.kind]


def question(events: Iterable[ev.Event], job: dict[str, Any], called: str, seq: int) -> Question | None:
    """Return what the event with this number asked, from all events of a job. None: there is no such alert."""
    view, kind, asked = View(), None, None
    for event in events:
        view.apply(event)
        if event.get("seq") == seq:
            kind, asked = kind_of(event), _mark(view, attention_of(view, job, called))
    if kind is None:
        return None
    now = attention_of(view, job, called)
    limit = limit_of(view.warning) if view.warning is not None else "idle"
    return Question(kind, now, _still(asked, view, now), limit)


def _mark(view: View, found: Attention | None) -> tuple[str, Any] | None:
    """What tells this question from every other one that the job may ask."""
    if found is None:
        return None
    if found.kind == WARNING:
        return WARNING, (view.warning or {}).get("seq")
    if found.kind == STUCK:
        return STUCK, view.last_activity_at
    return found.kind, (found.since, found.why)


def _still(asked: tuple[str, Any] | None, view: View, now: Attention | None) -> bool:
    if asked is None or now is None:
        return False
    if asked[0] == STUCK:  # the same silence, though it may have become more urgent
        return asked[1] == view.last_activity_at and now.kind in (STUCK, WARNING)
    return asked == _mark(view, now)
