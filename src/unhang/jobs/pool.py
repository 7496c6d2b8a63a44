"""The jobs that one long-lived face has started: at most so many at once, and those a caller waits for end with it.

Every job is a background one from the start, so that it can be handed over later. `hold` puts it on the lease: it ends
with this process, however that dies, until it is released.
"""

from __future__ import annotations

from unhang.core.plural import several
from unhang.errors import UsageError
from unhang.jobs import reconcile, start
from unhang.jobs.lease import Lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.handle import Job
    from unhang.jobs.request import Prepared
    from unhang.store.layout import JobDir


class JobPool:
    """Starts jobs and knows which of them may still run. Its methods may be called from any thread."""

    def __init__(self, max_jobs: int) -> None:
        self._max_jobs = max_jobs
        self._lease = Lease()
        self._started: dict[str, JobDir] = {}

    def launch(self, prepared: Prepared, data: bytes | None, *, hold: bool) -> JobConnection:
        """Give a job to a keeper and return at once; `AttendedJob.wait_until_started` follows.

        `hold`: it ends with this process until it is released. Its caller waits for it, so nothing is told of it yet.
        """
        self._make_room()
        if hold:
            self._lease.ready()
        connection = start.launch(prepared, data, told=not hold)
        place = connection.place
        if hold:
            self._lease.hold(place)
        self._started[place.id] = place
        return connection

    def _make_room(self) -> None:
        if len(self._started) < self._max_jobs:
            return
        self._started = {name: place for name, place in self._started.items() if not reconcile.settle(place)}
        if len(self._started) >= self._max_jobs:
            raise UsageError(
                f"{several(len(self._started), 'job')} of this server may run at once, and so many do: "
                "wait for one of them, or cancel one"
            )

    def release(self, job: Job) -> None:
        """Let a job outlive this process."""
        self._lease.release(job.place)

    def forget(self, job: Job) -> None:
        """Forget a job that has ended: it no longer counts."""
        self._lease.release(job.place)
        self._started.pop(job.id, None)

    def get_ready(self) -> None:
        """Get ready for the next job: a keeper is made for it ahead."""
        start.next_spare()

    def close(self) -> None:
        """End the jobs that are held now; the others go on."""
        self._lease.close()
