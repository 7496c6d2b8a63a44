"""How a worker holds a job, and how others find out that it does not any more. Times are lengths; no clock is compared.

A worker says every few seconds that its job's keeper lives: a message on the job's own subject, behind the one that it
said before. A worker that is killed, frozen or cut off says nothing. Three times follow from the hold of a job, the
time that its worker may be silent:

    a sixth    how often the worker says it, and every five seconds at least
    half       after its last word that was stored, the job is ended on its own machine (fleet/tether.py)
    whole      as long as this nothing was heard: another worker may take it, or calls it lost

So when another may take a job, it has been ended where it ran, though no process there can be asked. A worker that
watches counts only time in which it could itself read the server: a server that was away makes no worker silent. After
two words that did not come it asks whether the machine has published the end of the job: then there is nothing to wait
for.
"""

from __future__ import annotations

from unhang.core.fleet.queue import RETRY, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from unhang.core.fleet.queue import QueuedJob

# Where nothing else is asked for. A job that must not run twice is better waited for, through a restart of the servers.
HOLD_RETRY, HOLD_FAIL = 60.0, 600.0
SHORTEST, LONGEST = 2.0, 24 * 3600.0
_OFTEN, _ENDED, _MOST_OFTEN = 1 / 6, 1 / 2, 5.0
_MISSED = 2.5
# Of the time between the end that is asked for and the time when another may take it: what is not gone then is killed.
_GRACE = 1 / 8


def default_hold(on_lost: str) -> float:
    """Return the hold of a job for which none was asked."""
    return HOLD_RETRY if on_lost == RETRY else HOLD_FAIL


def renewed_every(hold: float) -> float:
    """Return how often a worker says that its job lives."""
    return min(_MOST_OFTEN, hold * _OFTEN)


def ended_after(hold: float) -> float:
    """Return how long after its worker's last stored word a job is ended on its own machine."""
    return hold * _ENDED


def grace_of(hold: float) -> float:
    """Return how long such a job has after SIGTERM."""
    return min(10.0, hold * _GRACE)


class Silences:
    """Since when nothing was heard of each running job, as one worker of its queue sees it."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[tuple[int, int], float]] = {}
        self.quiet: list[QueuedJob] = []  # of which two words did not come, by the last look

    def doubt(self) -> None:
        """Note that the server could not be read: what was not heard may have been said."""
        self._since.clear()
        self.quiet = []

    def look(self, jobs: Iterable[QueuedJob], holds: dict[str, int], now: float) -> list[QueuedJob]:
        """Return the jobs whose workers have been silent for too long.

        `holds`: the number of each job's last word (none: 0), read from the server just now, as `jobs` was.
        """
        silent, known = [], {}
        self.quiet = []
        for job in jobs:
            if job.state != RUNNING:
                continue
            heard = (job.place, holds.get(job.id, 0))
            before = self._since.get(job.id)
            since = before[1] if before is not None and before[0] == heard else now
            known[job.id] = (heard, since)
            if now - since >= job.hold:
                silent.append(job)
            elif now - since >= _MISSED * renewed_every(job.hold):
                self.quiet.append(job)
        self._since = known
        return silent
