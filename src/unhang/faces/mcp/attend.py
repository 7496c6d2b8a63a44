"""One call that waits for the job it has started: listens to its keeper, tells the client, hands over or lets end.

The job is a background one from the start. As long as this call waits it is on the lease, so it ends with this server
however that dies; when the call's time is over it is taken off, and lives on by itself.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import anyio

from unhang.core.notices import audience
from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.notifications import Notifications
from unhang.jobs import control_client, reconcile
from unhang.jobs.connection import Connection
from unhang.jobs.handle import Job
from unhang.jobs.late_diagnosis import LateDiagnosis
from unhang.jobs.progress import progress_line

# How often to see whether the client of an HTTP request is still there.
_CHECK = 1.0


class ClientGone(Exception):
    """Nobody is there any more to hear the answer."""


class AttendedJob:
    def __init__(self, backend: Backend, connection: Connection, notices: Notifications) -> None:
        self.backend = backend
        self.job = Job(connection.place)
        self.view = View()
        self.diagnosis: dict[str, Any] | None = None
        self._connection = connection
        self._notices = notices
        self._over = connection.ended
        self.has_ended = False

    # --- waiting --------------------------------------------------------------------------------------------

    async def wait(self, seconds: float, gone: asyncio.Event | None = None) -> bool:
        """True: it has ended. False: the time is over, and it goes on. Raises ClientGone."""
        settings = self.backend.settings
        deadline = time.monotonic() + seconds
        report = time.monotonic() + settings.first_progress
        why = LateDiagnosis(self.job, seconds, self.backend.in_loose_thread)
        try:
            while not self._over:
                await self._news()
                now = time.monotonic()
                if gone is not None and gone.is_set():
                    raise ClientGone
                if now >= deadline:
                    break
                if now >= report:
                    report = now + settings.progress_every
                    await self._report()
                why.poll(now)
                await self._listen(min(deadline, report, why.wake_at(deadline), now + _CHECK) - now)
        finally:
            why.close()
        self.diagnosis = why.found
        await self._settle()
        return self.has_ended

    async def _settle(self) -> None:
        await self._news()
        if self._over:
            self.has_ended = await self.backend.in_thread(reconcile.settle, self.job.place)

    async def first_output(self, seconds: float) -> bool:
        """Of a job that never ends: until it has printed something and then paused, or ended. True: it has ended."""
        deadline = time.monotonic() + seconds
        quiet_at: float | None = None
        size = -1
        while not self._over and (now := time.monotonic()) < deadline:
            printed = self._printed_bytes()
            if printed != size:
                size, quiet_at = printed, (now + 0.2 if printed else None)
            if quiet_at is not None and now >= quiet_at:
                break
            await self._listen(min(0.05, deadline - now))
        await self._settle()
        return self.has_ended

    def _printed_bytes(self) -> int:
        total = 0
        for name in ("stdout", "stderr"):
            try:
                total += os.stat(self.job.place.stream(name)).st_size
            except OSError:
                continue
        return total

    async def _listen(self, seconds: float) -> None:
        """Until the keeper reports something, at most for so many seconds."""
        if seconds <= 0:
            await anyio.sleep(0)
        elif not await self._connection.hear_async(seconds) or self._connection.ended:
            self._over = True

    async def _news(self) -> None:
        for event in self._connection.new_events():
            self.view.apply(event)
            await self._notices.tell(self.job, event)
            if audience(event).client:
                await self._report()

    async def _report(self) -> None:
        line = await self.backend.in_thread(progress_line, self.job, self.view)
        hard = self.view.limits.get("hardMs", {}).get("value")
        await self._notices.progress(line, None if hard is None else hard / 1000)

    # --- the end of the call --------------------------------------------------------------------------------

    def hand_over_later(self) -> None:
        """A background job: off the lease already, still listened to."""
        self.backend.lease.release(self.job.place)

    def hand_over(self) -> None:
        """From here on it lives by itself."""
        self.backend.lease.release(self.job.place)
        self._close()

    def finish(self) -> None:
        self.backend.lease.release(self.job.place)
        self.backend.ended(self.job.place)
        self._close()

    async def end(self, by: str) -> None:
        """The call is cancelled, or its client is gone: so is the job. Its keeper climbs the ladder by itself."""
        with anyio.CancelScope(shield=True):
            await self.backend.in_thread(_cancel, self.job, by)
        self.finish()

    def _close(self) -> None:
        self._connection.close()


def _cancel(job: Job, by: str) -> None:
    try:
        control_client.ask(job.place, do="cancel", by=by)
    except (UnhangError, OSError):
        pass  # ended by itself
