"""All jobs of this user, and letting old ones go."""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import retention, values
from unhang.core.spec import command_line
from unhang.errors import StateError
from unhang.jobs import reconcile
from unhang.jobs.results import view_of
from unhang.procs import clock, identity
from unhang.store import files, find, records
from unhang.store import home as homes
from unhang.store.index import Row, listed
from unhang.store.layout import JobDir
from unhang.store.reader import last_event
from unhang.store.removal import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.retention import Keep

# added to the name of a directory that is being removed: it is no job id any more
_GONE = ".gone"


def index_path(home: str) -> str:
    return os.path.join(home, homes.INDEX)


def list_jobs(home: str, *, running_only: bool = False, labels: dict[str, str] | None = None) -> list[Row]:
    """Newest first; every row is true at the moment it was read."""
    ids = find.all_ids(home)
    if not ids:
        return []
    rows, ended = listed(index_path(home), ids, lambda job: row_of(JobDir(home, job)), running_only=running_only)
    if ended:
        from unhang.jobs.history import remember  # after the list: nobody who lists waits for its imports in vain

        try:
            remember(home, ended)
        except (StateError, OSError):
            pass  # a history that cannot be written must not hide the jobs
    wanted = (labels or {}).items()
    return [row for row in rows if all(row.labels.get(name) == value for name, value in wanted)]


def row_of(place: JobDir) -> Row | None:
    """As `read_row`; a job whose files cannot be read (a folder is in the place of one) is a line that says so."""
    try:
        return read_row(place)
    except (StateError, OSError):
        return Row(place.id, "", "?", "", {}, "command", "error", "unreadable", None, None, None, 0, False)


def read_row(place: JobDir) -> Row | None:
    """None: it is just being born, was removed while we looked, or is no job directory of ours."""
    refused = False
    try:
        final = reconcile.settle(place)
    except (StateError, OSError):
        final, refused = False, True  # of a newer format, say: nobody is left of it, but the end may not be written
    job = records.job(place)
    last = last_event(place.events)
    if last is None or (job is None and not final):
        return None
    job = job or {}
    phase = str(last.get("phase")) if final else "lost" if refused else _phase(place)
    if not final and reconcile.whereabouts(place):
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
    """Where a job runs that cannot be judged from here; "": here."""
    return reconcile.whereabouts(JobDir(home, row.id)) if row.phase == reconcile.ELSEWHERE else ""


def _phase(place: JobDir) -> str:
    """Of a running job. The view is a cache, which a short story does not have."""
    status = files.read_json(place.status)
    phase = values.text((status or {}).get("phase"))
    return view_of(place).phase if phase is None else phase


def folder_size(path: str) -> int:
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return total


def collect(home: str, keep: Keep, now: float | None = None) -> list[str]:
    """Let old jobs go; the ids of those. `now`: the time by which ages are counted, if not by the wall clock."""
    clocks = retention.Clocks(clock.wall(), clock.monotonic(), identity.boot_id())
    now = clocks.wall if now is None else now
    rows = [row for row in list_jobs(home) if row.final]
    offered = [_offered(home, row, keep, clocks, now) for row in rows]
    removed = [job for job in retention.choose(offered, keep, now) if remove(JobDir(home, job))]
    if removed:
        listed(index_path(home), find.all_ids(home), lambda job: row_of(JobDir(home, job)))
    _finish_removals(home)
    return removed


def _offered(home: str, row: Row, keep: Keep, clocks: retention.Clocks, now: float) -> retention.Ended:
    """Its record is only read where the wall clock alone would have it go."""
    place = JobDir(home, row.id)
    ended = values.moment(row.ended)
    ended = _changed(place.events, now) if ended is None else ended  # no time that can be read: when it was written
    # a number that alone would make all others go is looked up again: the index is only a cache
    size = row.bytes if keep.bytes is None or row.bytes <= keep.bytes else folder_size(place.path)
    if keep.age is None or now - ended <= keep.age:
        return retention.Ended(row.id, ended, size)
    keeper = (records.job(place) or {}).get("keeper") or {}
    last = last_event(place.events) or {}
    took = (values.number(last.get("totalMs")) or values.number(last.get("durationMs")) or 0) / 1000
    most = retention.most_of(clocks, keeper.get("boot"), keeper.get("start"), os.sysconf("SC_CLK_TCK"), took)
    return retention.Ended(row.id, ended, size, most)


def _changed(path: str, otherwise: float) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return otherwise


def remove(place: JobDir) -> bool:
    """Only what has ended, and never what a newer unhang has written. First renamed, which is atomic: a job that is
    only half removed would look like a lost one."""
    if not reconcile.has_ended(place) or files.is_newer(files.read_json(place.job) or {}):
        return False
    try:
        os.rename(place.path, place.path + _GONE)
    except OSError:
        return False
    remove_tree(place.path + _GONE)
    return True


def _finish_removals(home: str) -> None:
    """What somebody who was killed in the middle has left."""
    folder = os.path.join(home, homes.JOBS)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(_GONE):  # a link is not followed
            remove_tree(os.path.join(folder, name))
