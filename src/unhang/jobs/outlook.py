"""A job at a glance, for lists: what it needs or how it ended, when it ends, and where it listens."""

from __future__ import annotations

from unhang.core import attention, mask, plain_text
from unhang.core.attention import Attention
from unhang.core.record import Record
from unhang.jobs import reconcile
from unhang.jobs.end_time import ends_at
from unhang.jobs.listing import row_json
from unhang.jobs.needs import need_of
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


class Outlook(Record):
    """A row of a list, with what is known beyond it. `ends_at`: seconds since 1970; None: no limit, or ended."""

    row: Row
    attention: Attention | None
    why: str
    ends_at: float | None
    ports: list[str]

    @property
    def urgency(self) -> tuple[int, float]:
        """A key to sort by: what needs a person first, and of these what ends first."""
        ends = self.ends_at if self.attention is not None and self.ends_at is not None else float("inf")
        return attention.urgency(self.attention), ends

    def to_json(self, home: str) -> dict[str, Any]:
        """The row with `why`, `needs`, `endsInMs` and `ports`."""
        left = None if self.ends_at is None else max(0, round((self.ends_at - clock.wall()) * 1000))
        needs = None if self.attention is None else self.attention.to_json()
        return row_json(home, self.row) | {"why": self.why, "needs": needs, "endsInMs": left, "ports": self.ports}


def outlooks(home: str, rows: list[Row], *, ports: bool = True) -> list[Outlook]:
    """The outlook of each row, in their order."""
    listening = ports_of(home, [row.id for row in rows if not row.final]) if ports else {}
    each = sum(not row.final for row in rows) <= _ASKED
    return [_outlook(home, row, listening.get(row.id, []), always_ask=each) for row in rows]


def _outlook(home: str, row: Row, ports: list[str], *, always_ask: bool) -> Outlook:
    place = JobDir(home, row.id)
    if row.final:
        last = last_event(place.events) or {}
        why = "" if row.status == "success" and not last.get("leaked") else str(last.get("message", ""))
        return Outlook(row, None, _line(why), None, [])
    if row.phase == reconcile.ELSEWHERE:
        return Outlook(row, None, _line(f"runs elsewhere: {reconcile.whereabouts(place)}"), None, [])
    view = view_of(place)
    found = need_of(place, view)
    if found is not None:
        why = found.why
    elif view.silent:
        why = str((view.diagnosis or {}).get("reason") or "")
    else:
        why = f"says {plain_text.quoted(view.heartbeat, 60)}" if view.heartbeat else ""
    ends = (
        found.ends_at
        if found is not None and found.ends_at is not None
        else ends_at(place, view, always_ask=always_ask)
    )
    return Outlook(row, found, _line(why), ends, ports)


def _line(text: str) -> str:
    return plain_text.one_line(mask.line(text), 300)


def ports_of(home: str, jobs: list[str]) -> dict[str, list[str]]:
    """At which addresses the processes of each of these jobs listen (TCP)."""
    keepers: dict[int, str] = {}
    for job in jobs:
        record = records.job(JobDir(home, job))
        if record is None or not reconcile.keeper_lives(record) or reconcile.whereabouts(JobDir(home, job), record):
            continue
        keepers[int(reconcile.keeper_of(record)["pid"])] = job
    return {keepers[pid]: addresses for pid, addresses in listening_below(list(keepers)).items()}


def listening_below(keepers: list[int]) -> dict[int, list[str]]:
    """At which addresses the processes below each of these listen (TCP)."""
    from unhang.procs.sampler.connections import listening  # most lists are of jobs that have ended

    return listening(keepers)
