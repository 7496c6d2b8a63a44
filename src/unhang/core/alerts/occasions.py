"""Which events are worth an alert, and what an alert says of them."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, plain_text, values
from unhang.core.alerts.answers import offers
from unhang.core.alerts.kinds import ENDS, SEVERITY, kind_of
from unhang.core.attention import attention_of
from unhang.core.durations import human_ms
from unhang.core.record import Record
from unhang.core.spec import NAME, NOTIFY, command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.view import View

_LONGEST = 300


class AlertSubject(Record):
    """The job or session that an alert is about, with all that a rule can ask for."""

    id: str
    name: str
    command: str
    directory: str = ""
    agent: str = ""
    labels: dict[str, str] = {}  # noqa: RUF012 - a Record is frozen; no code writes to it
    notify: tuple[str, ...] = ()  # targets that `--notify` names for this job alone
    session: bool = False


class Occasion(Record):
    """One thing that a person may want to be told. `at` and `ended_at` are in seconds since 1970.

    `stall`: what belongs to the same silence has the same text here. `command`: what a person pastes into a shell.
    `offers`: what a link may do about it (core/alerts/answers.py). `answered`: it is over because a person decided.
    """

    subject: AlertSubject
    kind: str
    seq: int
    at: float
    stall: str
    what: str
    command: str
    lasted: float = 0.0
    offers: tuple[str, ...] = ()
    answered: bool = False

    @property
    def key(self) -> str:
        """Return what is the same for every delivery of this occasion, so that a receiver can drop a second one."""
        return f"{self.subject.id}:{self.seq}:{self.kind}"

    @property
    def severity(self) -> str:
        """Return how soon a person should look."""
        return SEVERITY[self.kind]


def subject_of(job_id: str, job: dict[str, Any]) -> AlertSubject:
    """Return the subject of a job's alerts, from the job's record."""
    labels = {str(name): str(value) for name, value in (values.mapping(job.get("labels")) or {}).items()}
    agent = values.text((values.mapping(job.get("agent")) or {}).get("name")) or ""
    command = command_line(job)
    return AlertSubject(
        id=job_id,
        name=plain_text.one_line(labels.get(NAME) or command, 60),
        command=command,
        directory=values.text(job.get("cwd")) or "",
        agent=agent,
        labels=labels,
        notify=tuple(name for name in labels.get(NOTIFY, "").split(",") if name),
    )


def occasion_of(event: ev.Event, view: View, job: dict[str, Any], subject: AlertSubject) -> Occasion | None:
    """Return the occasion that an event of a job is. `view`: what is known of the job with this event the last one."""
    kind = kind_of(event)
    if kind is None:
        return None
    found = attention_of(view, job, subject.id) if kind not in ENDS and kind != "recovered" else None
    return Occasion(
        subject=subject,
        kind=kind,
        seq=int(event.get("seq") or 0),
        at=values.moment(event.get("ts")) or 0.0,
        stall=_stall_of(event, view),
        what=mask.one_line(_time_left(event, kind) + (found.why if found else _reason(event)), _LONGEST),
        command=found.command if found else f"unhang {'result' if kind in ENDS else 'status'} {subject.id}",
        lasted=(values.number(event.get("durationMs")) or 0) / 1000,
        offers=offers(found),
        answered=bool(event.get("decision") or event.get("asked")),
    )


def session_occasion(event: ev.Event, subject: AlertSubject) -> Occasion | None:
    """Return the occasion that an event of a session's watcher is."""
    kind = kind_of(event) if event.get("type") == "watch" else None
    if kind is None:
        return None
    return Occasion(
        subject=subject,
        kind=kind,
        seq=int(event.get("seq") or 0),
        at=values.moment(event.get("ts")) or 0.0,
        stall=str(event.get("toolUseId") or event.get("limit") or event.get("askedAtMs") or "session"),
        what=mask.one_line(str(event.get("message", "")), _LONGEST),
        command=f"unhang watch events {subject.id}",
        answered=bool(event.get("answered")),
    )


def _stall_of(event: ev.Event, view: View) -> str:
    """Notices of one silence name the same last sign of life."""
    return str(event.get("since") or view.last_activity_at or "")


def _time_left(event: ev.Event, kind: str) -> str:
    """What a warning leaves, in words that hold however late it is read."""
    left = values.number(event.get("willAbortInMs")) if kind == "warning" else None
    return "" if left is None else f"ends within {human_ms(round(left))}: "


def _reason(event: ev.Event) -> str:
    known = values.mapping(event.get("diagnosis")) or {}
    return str(known.get("reason") or event.get("message") or "")
