"""The jobs of this user, as rows of a list."""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import values
from unhang.core.spec import command_line
from unhang.errors import StateError
from unhang.jobs import reconcile
from unhang.jobs.results import view_of
from unhang.store import files, find, records
from unhang.store import home as homes
from unhang.store.index import Row, listed
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Row", "folder_size", "index_path", "list_jobs", "read_row", "row_json", "row_of", "where_is"]


def index_path(home: str) -> str:
    """Return the database of the list and of the history."""
    return os.path.join(home, homes.INDEX)


def list_jobs(home: str, *, running_only: bool = False, labels: dict[str, str] | None = None) -> list[Row]:
    """Return the jobs, newest first; every row is true at the moment it was read."""
    ids = find.all_ids(home)
    if not ids:
        return []
    rows, ended = listed(index_path(home), ids, lambda job: row_of(JobDir(home, job)), running_only=running_only)
    if ended:
        from unhang.jobs.history import remember  # its imports cost time that a list without new ends need not take

        try:
            remember(home, ended)
        except (StateError, OSError):
            pass  # a history that cannot be written must not hide the jobs
    wanted = (labels or {}).items()
    return [row for row in rows if all(row.labels.get(name) == value for name, value in wanted)]


def row_of(place: JobDir) -> Row | None:
    """Do what `read_row` does; a job whose files cannot be read (a folder is in the place of one) is a line that says
    so.
    """
    try:
        return read_row(place)
    except (StateError, OSError):
        return Row(place.id, "", "?", "", {}, "command", "error", "unreadable", None, None, None, 0, False)


def read_row(place: JobDir) -> Row | None:
    """Return the row of a job; None: it is just being born, was removed while we looked, or is no job directory of
    ours.
    """
    refused = False
    last = last_event(place.events)
    final = reconcile.is_end(place, last)
    if not final:
        try:
            final = reconcile.settle(place)
        except (StateError, OSError):
            refused = True  # of a newer format, say: nothing of it runs, but the end may not be written
        last = last_event(place.events)
    job = records.job(place)
    if last is None or (job is None and not final):
        return None
    job = job or {}
    phase = str(last.get("phase")) if final else "lost" if refused else _phase(place)
    if not final and reconcile.whereabouts(place, job):
        phase, refused = reconcile.ELSEWHERE, False
    return Row(
        id=place.id,
        created=job.get("createdAt") or last["ts"],
        command=command_line(job),
        cwd=job.get("cwd") or "",
        labels=job.get("labels") or {},
        kind=job.get("kind") or "command",
        status="error" if refused else last.get("status") or "error" if final else "running",
        phase=phase,
        started=job.get("createdAt"),
        ended=last["ts"] if final and last["type"] == ev.EXITED else None,
        exit_code=values.integer(last.get("exitCode")) if final else None,
        bytes=folder_size(place.path) if final else 0,
        final=final,
    )


def where_is(home: str, row: Row) -> str:
    """Return where a job runs that cannot be judged from here; "": here."""
    return reconcile.whereabouts(JobDir(home, row.id)) if row.phase == reconcile.ELSEWHERE else ""


def row_json(home: str, row: Row) -> dict[str, Any]:
    """Return a row as JSON; `where` only of a job that runs elsewhere."""
    shown: dict[str, Any] = {
        "jobId": row.id,
        "name": row.name or None,
        "status": row.status,
        "phase": row.phase,
        "command": row.command,
        "cwd": row.cwd,
        "kind": row.kind,
        "labels": row.labels,
        "createdAt": row.created,
        "endedAt": row.ended,
        "exitCode": row.exit_code,
    }
    where = where_is(home, row)
    return shown | {"where": where} if where else shown


def _phase(place: JobDir) -> str:
    """The phase of a running job; status.json may not exist yet."""
    status = files.read_json(place.status)
    phase = values.text((status or {}).get("phase"))
    return view_of(place).phase if phase is None else phase


def folder_size(path: str) -> int:
    """Return the bytes of the files in a folder."""
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return total
