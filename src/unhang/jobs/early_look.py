"""Looks now and then, while a caller waits, whether a job has turned out to be something that does not end by itself:
a server that listens, an editor without a terminal, or a job that certainly hangs."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from unhang.core.diagnosis import causes
from unhang.core.diagnosis.verdict import HUNG
from unhang.core.spec import AGENT
from unhang.errors import UnhangError
from unhang.jobs.diagnose import diagnose_job
from unhang.jobs.results import output_mark
from unhang.jobs.tree_look import TreeLook, look_at

if TYPE_CHECKING:
    from unhang.jobs.handle import Job
    from unhang.jobs.progress import InThread

# When to look, in seconds after the wait began: an editor is there at once, a server may take its time to come up.
_TIMES = (0.4, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
# The time between the two looks that prove a server: test suites listen as well, and do something meanwhile.
_WINDOW = 1.0
# A job that has been quiet between two looks so long after the wait began may hang; its proof takes a longer window.
_LONG, _LONG_WINDOW = 8.0, 2.0
# How long after it was found the caller may learn of it.
_STEP = 0.1


class EarlyLook:
    """A look that begins when it is due. `poll` it now and then; `seen` and `diagnosis` say what it has found."""

    def __init__(self, job: Job, in_thread: InThread) -> None:
        """`in_thread`: work that it runs may be abandoned half-way."""
        self.seen = TreeLook()
        self.diagnosis: dict[str, Any] | None = None  # of a job that only waits for connections, or hangs for certain
        self.serves = False  # it only waits for connections
        self._job = job
        self._in_thread = in_thread
        self._began = time.monotonic()
        self._times = list(_TIMES)
        self._task: asyncio.Task[None] | None = None
        self._printed: tuple[tuple[int, int], ...] = ()

    @property
    def decided(self) -> bool:
        """Return whether the caller need not wait any longer: the job is a server, hangs, or has opened an editor."""
        return self.diagnosis is not None or bool(self.seen.editors)

    def wake_at(self, otherwise: float) -> float:
        """Return when to call `poll`; `otherwise` if a look is under way or none is left."""
        if self._task is not None and not self._task.done():
            return time.monotonic() + _STEP
        return self._began + self._times[0] if self._times else otherwise

    def poll(self, now: float) -> None:
        """Begin a look if one is due."""
        busy = self._task is not None and not self._task.done()
        if not busy and self._times and now >= self._began + self._times[0]:
            self._times = [each for each in self._times if self._began + each > now]
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            if self._job.spec.get("kind") == AGENT:  # what an agent does is told by its driver
                self._times = []
                return
            seen = await self._in_thread(look_at, self._job)
            self.seen = seen
            printed = output_mark(self._job.place)
            quiet, self._printed = printed == self._printed, printed
            long = time.monotonic() >= self._began + _LONG
            if quiet and (seen.listening or long):
                window = _LONG_WINDOW if long else _WINDOW
                found = (await self._in_thread(diagnose_job, self._job.id, window)).to_json()
                serves = bool(seen.listening) and causes.cause_of(found) is causes.LISTENING
                hangs = long and found["state"] == HUNG
                if (serves or hangs) and output_mark(self._job.place) == printed:
                    self.diagnosis, self.serves = found, serves
        except (UnhangError, OSError, KeyError):
            return  # the job has ended meanwhile

    def close(self) -> None:
        """Give up a look that is under way."""
        if self._task is not None:
            self._task.cancel()
