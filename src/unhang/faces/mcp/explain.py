"""Why is it still running? Looked at shortly before a call's time is over, so that the answer can say so."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anyio.to_thread

from unhang.errors import UnhangError
from unhang.jobs.diagnose import diagnose_job
from unhang.jobs.handle import Job

# Two looks this far apart; a call with little time gets by with less.
_WINDOW, _SHORT = 2.0, 0.5
_SLACK = 0.4


class Explanation:
    """`poll` it now and then; it begins when it is due. Nobody waits for it if the job ends meanwhile."""

    def __init__(self, job: Job, seconds: float) -> None:
        self.found: dict[str, Any] | None = None
        self._job = job
        self._window = _WINDOW if seconds >= 2 * _WINDOW else _SHORT
        self._task: asyncio.Task[None] | None = None
        self._due = time.monotonic() + max(0.0, seconds - self._window - _SLACK)
        self._wanted = seconds > _SHORT

    def wake_at(self, otherwise: float) -> float:
        return self._due if self._wanted and self._task is None else otherwise

    def poll(self, now: float) -> None:
        if self._wanted and self._task is None and now >= self._due:
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            found = await anyio.to_thread.run_sync(diagnose_job, self._job.id, self._window, abandon_on_cancel=True)
        except (UnhangError, OSError, KeyError):
            return  # it has ended meanwhile
        self.found = found.to_json()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
