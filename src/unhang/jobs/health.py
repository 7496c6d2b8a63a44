"""Do the keepers of the running jobs, and their guards, get on with their work?"""

from __future__ import annotations

from unhang.errors import UnhangError
from unhang.jobs import asking, truth
from unhang.jobs.listing import list_jobs
from unhang.procs import stat
from unhang.store import files
from unhang.store.layout import JobDir

# A keeper answers in a millisecond; one that gets no core may take a little longer.
_PATIENCE = 2.0
_STATES = {"T": "is stopped", "t": "is being traced", "D": "waits for a disk or a device"}


def check_keepers(home: str) -> tuple[int, list[tuple[str, str]]]:
    """How many answer; and of those that do not, the job and what is wrong."""
    silent: list[tuple[str, str]] = []
    running = [row for row in list_jobs(home, running_only=True) if row.phase != truth.ELSEWHERE]
    for row in running:
        problem = _problem(JobDir(home, row.id))
        if problem:
            silent.append((row.id, problem))
    return len(running) - len(silent), silent


def _problem(place: JobDir) -> str:
    """ "": it answers, or has ended meanwhile."""
    keeper = truth.keeper_of(files.read_json(place.job))
    for name, pid, start in (("keeper", "pid", "start"), ("guard", "guard", "guardStart")):
        process = truth.process_named(keeper, pid, start)
        found = None if process is None else stat.of(process.pid)
        if process is not None and found is not None and found[0].start == process.start:
            state = _STATES.get(found[0].state)
            if state is not None:
                return f"its {name} {state}"
    try:
        asking.ask(place, do="ping", patience=_PATIENCE)
    except asking.JobHasEnded:
        return ""
    except (UnhangError, OSError) as error:
        return "" if truth.has_ended(place) else str(error)
    return ""
