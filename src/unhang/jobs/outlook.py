"""A job at a glance, for lists: what it needs or how it ended, when it ends, and where it listens."""

from __future__ import annotations

from unhang.core import attention, mask, plain_text, values, wording
from unhang.core.attention import Attention
from unhang.core.overview import ran_ms
from unhang.core.record import Record
from unhang.jobs import reconcile, unseen_ends
from unhang.jobs.end_time import ends_at
from unhang.jobs.listing import list_jobs, row_json
from unhang.jobs.needs import attention_of_job, need_of
from unhang.jobs.results import view_of
from unhang.procs import clock
from unhang.store import records
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.store.index import Row

# Of so many jobs each keeper is asked how long its job has been silent; a longer list asks of the silent ones only.
_ASKED = 50
# The longest line about a job.
_LINE = 300


class Outlook(Record):
    """A row of a list, with what is known beyond it. `ends_at`: seconds since 1970; None: no limit, or ended.

    `started`: when it was started, if it runs; `ran_ms`: how long it ran, if it has ended and that is known;
    `cause`: why it is silent, if that is known.
    """

    row: Row
    attention: Attention | None
    why: str
    ends_at: float | None
    ports: list[str]
    signal: str | None = None
    started: str | None = None
    ran_ms: float | None = None
    cause: str | None = None

    @property
    def state(self) -> str:
        """Return where it stands, in words."""
        row = self.row
        kind = None if self.attention is None else self.attention.kind
        return wording.state(
            row.status, row.phase, needs=kind, exit_code=row.exit_code, signal=self.signal, cause=self.cause
        )

    @property
    def urgency(self) -> tuple[int, str]:
        """Return a key to sort by: what needs a person first, and of these what has waited longest."""
        return attention.urgency(self.attention), "" if self.attention is None else self.attention.since

    def to_json(self, home: str) -> dict[str, Any]:
        """Return the row with `why`, `needs`, `endsInMs`, `ports`, `signal`, `startedAt`, `ranMs` and `cause`."""
        left = None if self.ends_at is None else max(0, round((self.ends_at - clock.wall()) * 1000))
        needs = None if self.attention is None else self.attention.to_json()
        shown = {"why": self.why, "needs": needs, "endsInMs": left, "ports": self.ports, "signal": self.signal}
        return row_json(home, self.row) | shown | {"startedAt": self.started, "ranMs": self.ran_ms, "cause": self.cause}


def outlooks(home: str, rows: list[Row], *, ports: bool = True, lasting: bool = False) -> list[Outlook]:
    """Return the outlook of each row, in their order. `lasting`: they are kept, so no text names a time that passes."""
    listening = ports_of(home, [row.id for row in rows if not row.final]) if ports else {}
    each = sum(not row.final for row in rows) <= _ASKED
    return [_outlook(home, row, listening.get(row.id, []), always_ask=each, lasting=lasting) for row in rows]


def may_need_a_look(home: str, row: Row) -> bool:
    """Return whether a job ended badly in the background and was not looked at."""
    return row.final and unseen_ends.may_need_a_look(JobDir(home, row.id), row)


def count_unseen(home: str, labels: dict[str, str] | None = None) -> int:
    """Return how many jobs ended badly in the background and were not looked at."""
    return sum(may_need_a_look(home, row) for row in list_jobs(home, labels=labels))


def states_of(home: str, rows: list[Row]) -> list[str]:
    """Return where each job stands, in words; no keeper is asked."""
    return [_state_of(home, row) for row in rows]


def _state_of(home: str, row: Row) -> str:
    place = JobDir(home, row.id)
    if row.final:
        last = last_event(place.events) or {}
        return Outlook(row, None, "", None, [], signal=values.text(last.get("signal"))).state
    if row.phase == reconcile.ELSEWHERE:
        return Outlook(row, None, "", None, []).state
    view = view_of(place)
    return Outlook(row, attention_of_job(place, view), "", None, [], cause=view.cause).state


def _outlook(home: str, row: Row, ports: list[str], *, always_ask: bool, lasting: bool) -> Outlook:
    place = JobDir(home, row.id)
    if row.final:
        last = last_event(place.events) or {}
        why = "" if row.status == "success" and not last.get("leaked") else str(last.get("message", ""))
        signal, needs = values.text(last.get("signal")), unseen_ends.find_unseen_end(place, row.status, row.ended)
        return Outlook(
            row, needs, mask.one_line(why, _LINE), None, [], signal=signal, started=row.started, ran_ms=ran_ms(last)
        )
    if row.phase == reconcile.ELSEWHERE:
        where = f"runs elsewhere: {reconcile.whereabouts(place)}"
        return Outlook(row, None, mask.one_line(where, _LINE), None, [], started=row.started)
    view = view_of(place)
    found = need_of(place, view, lasting=lasting)
    if found is not None:
        why = found.why
    elif view.silent:
        why = view.reason_at(None if lasting else clock.wall())
    else:
        why = f"says {plain_text.quoted(view.heartbeat, 60)}" if view.heartbeat else ""
    ends = (
        found.ends_at
        if found is not None and found.ends_at is not None
        else ends_at(place, view, always_ask=always_ask)
    )
    return Outlook(
        row, found, mask.one_line(why, _LINE), ends, ports, started=view.started_at or row.started, cause=view.cause
    )


def ports_of(home: str, jobs: list[str]) -> dict[str, list[str]]:
    """Return at which addresses the processes of each of these jobs listen (TCP)."""
    keepers: dict[int, str] = {}
    for job in jobs:
        record = records.job(JobDir(home, job))
        if record is None or not reconcile.keeper_lives(record) or reconcile.whereabouts(JobDir(home, job), record):
            continue
        keepers[int(reconcile.keeper_of(record)["pid"])] = job
    return {keepers[pid]: addresses for pid, addresses in listening_below(list(keepers)).items()}


def listening_below(keepers: list[int]) -> dict[int, list[str]]:
    """Return at which addresses the processes below each of these listen (TCP)."""
    from unhang.procs.sampler.connections import listening  # most lists are of jobs that have ended

    return listening(keepers)
