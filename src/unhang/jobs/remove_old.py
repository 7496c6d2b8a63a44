"""Removes the records of old jobs and sessions, by age, number and size (core/retention.py chooses), or by name."""

from __future__ import annotations

import os

from unhang.core import retention, values
from unhang.errors import ControlError, StateError
from unhang.jobs import reconcile
from unhang.jobs.listing import folder_size, index_path, list_jobs, row_of
from unhang.jobs.metrics import count_before_removal
from unhang.procs import clock, identity, vantage
from unhang.store import files, find, records
from unhang.store import home as homes
from unhang.store.index import Row, listed
from unhang.store.layout import JobDir
from unhang.store.reader import last_event
from unhang.store.removal import remove_tree
from unhang.store.session_log import SessionLog, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.retention import Keep

# Added to the name of a directory that is being removed: it is no job id any more.
_GONE = ".gone"


def remove_old_jobs(
    home: str,
    keep: Keep,
    now: float | None = None,
    *,
    labels: dict[str, str] | None = None,
    dry_run: bool = False,
) -> dict[str, int]:
    """Remove the records of old jobs; the ids of those with their bytes, oldest first.

    `now`: what ages are counted by; None: the wall clock. `labels`: only jobs with these. `dry_run`: remove nothing.
    """
    clocks = retention.ClockReadings(clock.wall(), clock.monotonic(), identity.boot_id())
    now = clocks.wall if now is None else now
    rows = [row for row in list_jobs(home, labels=labels) if row.final]
    offered = [_offered(home, row, keep, clocks, now) for row in rows]
    sizes = {job.id: job.bytes for job in offered}
    chosen = retention.choose(offered, keep, now)
    if dry_run:
        return {job: sizes[job] for job in chosen}
    if chosen:
        count_before_removal(home)
    removed = {job: sizes[job] for job in chosen if remove(JobDir(home, job))}
    if removed:
        _forget_removed(home)
    _finish_removals(home)
    return removed


def remove_named_jobs(home: str, places: list[JobDir], *, dry_run: bool = False) -> dict[str, int]:
    """Remove the records of these jobs, however young; the ids of them with their bytes. `dry_run`: remove nothing.

    Nothing is removed unless all of them have ended: raise ControlError for one that has not.
    """
    for place in places:
        if not reconcile.has_ended(place):
            raise ControlError(
                f"job {place.id} has not ended, and its record stays; to end it: unhang cancel {place.id}"
            )
    sizes = {place.id: folder_size(place.path) for place in places}
    if dry_run:
        return sizes
    count_before_removal(home)
    kept = [job for job in sizes if not remove(JobDir(home, job))]
    _forget_removed(home)
    if kept:
        raise StateError(f"could not be removed, or a newer unhang has written it: {', '.join(kept)}")
    return sizes


def _forget_removed(home: str) -> None:
    """Take the jobs whose directories are gone out of the index."""
    listed(index_path(home), find.all_ids(home), lambda job: row_of(JobDir(home, job)))


def _offered(home: str, row: Row, keep: Keep, clocks: retention.ClockReadings, now: float) -> retention.EndedJob:
    """Its record is only read where the wall clock alone would have it go."""
    place = JobDir(home, row.id)
    ended = values.moment(row.ended)
    ended = _changed(place.events, now) if ended is None else ended  # no time that can be read: when it was written
    # a number that alone would make all others go is looked up again: the index is only a cache
    size = row.bytes if keep.bytes is None or row.bytes <= keep.bytes else folder_size(place.path)
    if keep.age is None or now - ended <= keep.age:
        return retention.EndedJob(row.id, ended, size)
    keeper = (records.job(place) or {}).get("keeper") or {}
    last = last_event(place.events) or {}
    took = (values.number(last.get("totalMs")) or values.number(last.get("durationMs")) or 0) / 1000
    start = keeper.get("start") if vantage.shares_start_times(keeper, vantage.here()) else None
    most = retention.most_of(clocks, keeper.get("boot"), start, os.sysconf("SC_CLK_TCK"), took)
    return retention.EndedJob(row.id, ended, size, most)


def _changed(path: str, otherwise: float) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return otherwise


def remove(place: JobDir) -> bool:
    """Remove one job: only if it has ended, and never what a newer unhang has written.

    It is renamed first, which is atomic: a job that is only half removed would look like a lost one.
    """
    if not reconcile.has_ended(place) or files.is_newer(files.read_json(place.job) or {}):
        return False
    try:
        os.rename(place.path, place.path + _GONE)
    except OSError:
        return False
    remove_tree(place.path + _GONE)
    return True


def _finish_removals(home: str) -> None:
    """Remove what a process that was killed in the middle has left."""
    folder = os.path.join(home, homes.JOBS)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(_GONE):  # a link is not followed
            remove_tree(os.path.join(folder, name))


def remove_old_sessions(home: str, keep: Keep, now: float | None = None, *, dry_run: bool = False) -> list[str]:
    """Remove the logs of old sessions; the ids of those. A session that lives keeps its own. Options: as above."""
    try:
        logs = {name: SessionLog(name, home) for name in session_ids(home)}
    except StateError:
        return []
    offered = [ended for log in logs.values() if (ended := _ended_session(log)) is not None]
    chosen = retention.choose(offered, keep, clock.wall() if now is None else now)
    return chosen if dry_run else [name for name in chosen if logs[name].remove()]


def _ended_session(log: SessionLog) -> retention.EndedJob | None:
    """None: the session lives, or cannot be judged from here."""
    try:
        changed = os.stat(log.path).st_mtime
    except FileNotFoundError:
        changed = os.stat(log.folder).st_mtime  # made a moment ago, or left half removed
    except OSError:
        return None
    last = last_event(log.path) or {}
    stands = vantage.here()
    if last.get("boot") == stands.boot and not vantage.shares_numbers(last, stands):
        return None  # of a container, or looked at from one: whether it lives cannot be told from here
    pid, start = last.get("pid"), last.get("procStart")
    if isinstance(pid, int) and isinstance(start, str) and identity.is_alive(pid, start):
        return None
    return retention.EndedJob(log.session_id, changed, folder_size(log.folder))
