"""The jobs that need a person now, the most urgent first."""

from __future__ import annotations

from unhang.core import attention
from unhang.core.attention import Attention, attention_of
from unhang.core.record import Record
from unhang.core.spec import name_of
from unhang.jobs import reconcile, unseen_ends
from unhang.jobs.end_time import ends_at
from unhang.jobs.listing import list_jobs, row_json
from unhang.jobs.results import view_of
from unhang.procs import clock
from unhang.store import records
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.view import View
    from unhang.store.index import Row


class Need(Record):
    """A job that needs a person, and what for."""

    row: Row
    attention: Attention

    def to_json(self, home: str) -> dict[str, Any]:
        """Return the row of the job, with what it needs."""
        return row_json(home, self.row) | {"needs": self.attention.to_json()}


def attention_of_job(place: JobDir, view: View | None = None, *, lasting: bool = False) -> Attention | None:
    """Do what `need_of` does, but no keeper is asked until when it stands."""
    job = records.job(place) or {}
    if reconcile.whereabouts(place, job or None):
        return None
    return attention_of(
        view or view_of(place), job, name_of(job.get("labels")) or place.id, None if lasting else clock.wall()
    )


def need_of(place: JobDir, view: View | None = None, *, lasting: bool = False) -> Attention | None:
    """Return what a job needs a person for; None if it needs none, has ended, or runs elsewhere.

    `lasting`: it is kept and read later, so its text names no time that passes.
    """
    view = view or view_of(place)
    found = attention_of_job(place, view, lasting=lasting)
    # a person who is asked a question wants to know how long it stands
    if found is not None and found.ends_at is None:
        return found.replace(ends_at=ends_at(place, view, always_ask=True))
    return found


def note_seen(home: str, needs: list[Need]) -> None:
    """Note that the ends of these jobs were looked at: those that have ended need a person no longer."""
    for need in needs:
        if need.row.final:
            unseen_ends.note(JobDir(home, need.row.id), need.row.status, need.row.ended)


def list_needs(home: str, labels: dict[str, str] | None = None) -> list[Need]:
    """Return every job that needs a person: by kind, then the one that has waited longest first."""
    found: list[Need] = []
    for row in list_jobs(home, labels=labels):
        place = JobDir(home, row.id)
        need = unseen_ends.find_unseen_end(place, row.status, row.ended) if row.final else need_of(place)
        if need is not None:
            found.append(Need(row, need))
    return sorted(found, key=lambda need: (attention.urgency(need.attention), need.attention.since))
