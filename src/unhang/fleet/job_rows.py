"""What the overview shows of each job of a home, for its publisher: of every log only what is new is read."""

from __future__ import annotations

from unhang.core.fleet.entries import of_entry
from unhang.errors import UnhangError
from unhang.jobs import reconcile
from unhang.jobs.overview import TrackedJob
from unhang.procs import clock
from unhang.procs.usage import usage_below
from unhang.store.layout import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JobRows:
    """Reads the jobs of one home for their rows. Not for sharing between threads."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._jobs: dict[str, TrackedJob] = {}

    def of(self, job: str) -> dict[str, Any] | None:
        """Return what is published of a job beside its row; None if it cannot be read."""
        tracked = self._jobs.setdefault(job, TrackedJob(JobDir(self._home, job)))
        try:
            tracked.read()
            tracked.where = "" if tracked.view.ended else reconcile.whereabouts(tracked.place)
            return of_entry(tracked.entry())
        except (UnhangError, OSError):
            return None

    def use(self) -> None:
        """Look what the processes of the jobs use now."""
        now = clock.monotonic()
        keepers = {pid: tracked for tracked in self._jobs.values() if (pid := tracked.keeper) is not None}
        for pid, usage in usage_below(keepers).items():
            keepers[pid].used(now, usage)

    def forget(self, job: str) -> None:
        """Forget a job of which nothing more will be published."""
        self._jobs.pop(job, None)
