"""`start`: a job that outlives whoever started it."""

from __future__ import annotations

from unhang.errors import UnhangError
from unhang.jobs import truth
from unhang.jobs.foreground import begin
from unhang.jobs.handle import Job
from unhang.procs import clock
from unhang.store import files
from unhang.store.reader import last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.launching import Launched, Launcher
    from unhang.jobs.request import Prepared
    from unhang.store.layout import JobDir

# A thousand jobs that are started at once take half of it.
PATIENCE = 60.0
# How long the keeper's word is waited for before the record is looked at instead.
_LOOK = 2.0


def start(prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None) -> Job:
    """Returns when the job has been started (or has failed to start, which its result says)."""
    launched = begin(prepared, data, launcher)
    try:
        wait_until_started(launched)
    finally:
        launched.owner.close()
    return Job(launched.place)


def wait_until_started(launched: Launched) -> None:
    """Bounded, whatever the keeper does: the job may have stopped it before it could say a word."""
    owner, place = launched.owner, launched.place
    deadline = clock.monotonic() + PATIENCE
    while owner.seq == 0 and not owner.ended:
        if not owner.hear(_LOOK):
            if owner.failure:
                raise UnhangError(owner.failure)
            truth.settle(place, birth=0)  # lost at birth: nobody has it, and nobody will start it
            return
        if owner.seq == 0 and _is_recorded(place):
            return
        if clock.monotonic() >= deadline:
            truth.end_without_keeper(place)
            raise UnhangError(f"job {place.id} could not be started: its keeper does not answer; it was ended")


def _is_recorded(place: JobDir) -> bool:
    """By a keeper that wrote it down and said no more. What we are about to tell must survive a power cut."""
    if last_event(place.events) is None:
        return False
    for path in (place.job, place.events, place.path, f"{place.path}/..", place.home):
        files.sync_path(path)
    return True
