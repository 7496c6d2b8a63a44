"""Why is this job still running? Found out shortly before a wait is over, so that its answer can say so."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from unhang.errors import UnhangError
from unhang.jobs.diagnose import diagnose_until

if TYPE_CHECKING:
    from unhang.jobs.handle import Job
    from unhang.jobs.progress import InThread

# The time between the two looks; a wait with little time gets by with less.
_WINDOW, _SHORT = 2.0, 0.5
# How long before the end of the wait the second look is to be over.
_SLACK = 0.25
# How much earlier the first look begins than an idle machine needs. What a busy one takes for it, and for the code that
# the first diagnosis of a process loads, is taken from the time between the looks.
_AHEAD, _AHEAD_SHORT = 2.0, 1.0
# A job that has just been started is loading its own code: what it does then is no reason why it still runs.
_STARTS = 0.4
# How long after it was found the caller may learn of it.
_STEP = 0.1
# How long the answer waits for one that a busy machine has not finished: without it, it would not say why; with it, the
# caller would wait longer than it was told.
_LATE = 1.0


class LateDiagnosis:
    """A diagnosis that begins when it is due and is given up if the job ends meanwhile. `poll` it now and then."""

    def __init__(self, job: Job, seconds: float, in_thread: InThread) -> None:
        """`seconds`: how long the wait will take. `in_thread`: work that it runs may be abandoned half-way."""
        self.found: dict[str, Any] | None = None
        self._job = job
        self._in_thread = in_thread
        long = seconds >= 2 * _WINDOW
        before = _SLACK + (_WINDOW + _AHEAD if long else _SHORT + _AHEAD_SHORT)
        began = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._due = began + max(min(_STARTS, seconds / 3), seconds - before)
        self._over_by = began + seconds - _SLACK
        self._wanted = seconds > _SHORT

    def wake_at(self, otherwise: float) -> float:
        """Return when to call `poll`, or to look whether it has found something; `otherwise` if it is over."""
        if self._task is not None:
            return otherwise if self._task.done() else time.monotonic() + _STEP
        return self._due if self._wanted else otherwise

    def poll(self, now: float) -> None:
        """Begin if it is due."""
        if self._wanted and self._task is None and now >= self._due:
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            found = await self._in_thread(diagnose_until, self._job.id, self._over_by)
        except (UnhangError, OSError, KeyError):
            return  # the job has ended meanwhile
        self.found = found.to_json()

    async def finish(self) -> None:
        """Wait a moment longer if it is under way."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=_LATE)

    def close(self) -> None:
        """Give it up if it is not finished."""
        if self._task is not None:
            self._task.cancel()
