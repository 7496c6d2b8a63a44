"""All jobs of this user, and letting old ones go."""

from __future__ import annotations

import os

from unhang.core import events as ev
from unhang.core import retention
from unhang.core.spec import AGENT
from unhang.errors import StateError
from unhang.jobs import truth
from unhang.jobs.gather import view_of
from unhang.procs import clock
from unhang.store import files, find
from unhang.store import home as homes
from unhang.store.index import Row, listed
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.retention import Keep

# added to the name of a directory that is being removed: it is no job id any more
_GONE = ".gone"
_TASK = "--task="


def index_path(home: str) -> str:
    return os.path.join(home, homes.INDEX)


def list_jobs(home: str, *, running_only: bool = False, labels: dict[str, str] | None = None) -> list[Row]:
    """Newest first; every row is true at the moment it was read."""
    ids = find.all_ids(home)
    if not ids:
        return []
    rows, ended = listed(index_path(home), ids, lambda job: read_row(JobDir(home, job)), running_only=running_only)
    if ended:
        from unhang.jobs.learning import remember  # after the list: nobody who lists waits for its imports in vain

        try:
            remember(home, ended)
        except (StateError, OSError):
            pass  # a history that cannot be written must not hide the jobs
    wanted = (labels or {}).items()
    return [row for row in rows if all(row.labels.get(name) == value for name, value in wanted)]


def read_row(place: JobDir) -> Row | None:
    """None: it is just being born, was removed while we looked, or is no job directory of ours."""
    refused = False
    try:
        final = truth.settle(place)
    except (StateError, OSError):
        final, refused = False, True  # of a newer format, say: nobody is left of it, but the end may not be written
    job = files.read_json(place.job)
    last = last_event(place.events)
    if last is None or (job is None and not final):
        return None
    job = job or {}
    phase = str(last.get("phase")) if final else "lost" if refused else _phase(place)
    if not final and truth.whereabouts(place):
        phase, refused = truth.ELSEWHERE, False
    return Row(
        id=place.id,
        created=str(job.get("createdAt") or last.get("ts", "")),
        command=_command(job),
        cwd=str(job.get("cwd", "")),
        labels={str(k): str(v) for k, v in (job.get("labels") or {}).items()},
        kind=str(job.get("kind", "command")),
        status="error" if refused else str(last.get("status", "error")) if final else "running",
        phase=phase,
        started=job.get("createdAt"),
        ended=str(last["ts"]) if final and last["type"] == ev.EXITED else None,
        exit_code=last.get("exitCode") if final else None,
        bytes=folder_size(place.path) if final else 0,
        final=final,
    )


def where_is(home: str, row: Row) -> str:
    """Where a job runs that cannot be judged from here; "": here."""
    return truth.whereabouts(JobDir(home, row.id)) if row.phase == truth.ELSEWHERE else ""


def _phase(place: JobDir) -> str:
    """Of a running job. The view is a cache, which a short story does not have."""
    status = files.read_json(place.status)
    return view_of(place).phase if status is None else str(status.get("phase", "running"))


def _command(job: dict[str, object]) -> str:
    from unhang.core.spec import quote

    if job.get("shell") is not None:
        return str(job["shell"])
    argv = job.get("argv")
    if not isinstance(argv, list):
        return "?"
    return _task(job, argv) or " ".join(quote(str(word)) for word in argv)


def _task(job: dict[str, object], argv: list[object]) -> str:
    """Of an agent's job its name and its task, which is what people know it by; "": it has none."""
    labels = job.get("labels")
    tasks = [str(word)[len(_TASK) :] for word in argv if str(word).startswith(_TASK)]
    if job.get("kind") != AGENT or not tasks or not isinstance(labels, dict):
        return ""
    task = "(a long task)" if tasks[0] == "-" else " ".join(tasks[0].split())
    return f"{labels.get('agent', 'agent')}: {task}"


def folder_size(path: str) -> int:
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        pass
    return total


def collect(home: str, keep: Keep) -> list[str]:
    """Let old jobs go; the ids of those."""
    rows = [row for row in list_jobs(home) if row.final and row.ended]
    offered = [retention.Ended(row.id, clock.parse(row.ended or ""), row.bytes) for row in rows]
    removed = [job for job in retention.choose(offered, keep, clock.wall()) if remove(JobDir(home, job))]
    if removed:
        listed(index_path(home), find.all_ids(home), lambda job: read_row(JobDir(home, job)))
    _finish_removals(home)
    return removed


def remove(place: JobDir) -> bool:
    """Only what has ended, and never what a newer unhang has written. First renamed, which is atomic: a job that is
    only half removed would look like a lost one."""
    if not truth.has_ended(place) or files.is_newer(files.read_json(place.job) or {}):
        return False
    try:
        os.rename(place.path, place.path + _GONE)
    except OSError:
        return False
    _delete(place.path + _GONE)
    return True


def _delete(folder: str) -> None:
    """A flat directory of ours, so nothing is followed anywhere."""
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass  # the next time


def _finish_removals(home: str) -> None:
    """What somebody who was killed in the middle has left."""
    folder = os.path.join(home, homes.JOBS)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(_GONE) and not os.path.islink(os.path.join(folder, name)):
            _delete(os.path.join(folder, name))
