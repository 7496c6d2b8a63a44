"""One caller that waits for the job it has started: it listens, reports, and hands the job over or sees it end.

The job is a background one from the start. While its caller waits it is held by the pool, so it ends with this process
however that dies. When the caller's time is over it is handed over, and lives on by itself.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from unhang.core.decision import decides, still_open
from unhang.core.notices import audience
from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.jobs import connection as connections
from unhang.jobs import reconcile
from unhang.jobs.early_look import EarlyLook
from unhang.jobs.handle import Job
from unhang.jobs.late_diagnosis import LateDiagnosis
from unhang.jobs.progress import progress_line
from unhang.jobs.results import output_mark
from unhang.jobs.tree_look import look_at
from unhang.keeper.durability import sync_parents, sync_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.core.events import Event
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.pool import JobPool
    from unhang.jobs.progress import InThread, Listener, ReportTimes
    from unhang.store.layout import JobDir

# How often to see whether the caller is still there.
_CHECK = 1.0
# A job that never ends has printed its first lines when it has been quiet for so long: one that listens already, and
# one that may be about to.
_QUIET, _QUIET_UNLESS_LISTENING = 0.2, 0.6
# How often its output is looked at until then, and its processes.
_LOOK, _TREE_LOOK = 0.05, 0.2
# How long after its end a keeper is made for the next job: the answer goes first, it may need the same processor.
_UNTIL_NEXT = 0.002


class CallerGone(Exception):
    """The caller has left: there is no one to give the answer to."""


class AttendedJob:
    """A job that its caller waits for. It ends in one of `hand_over`, `finish` and `end`."""

    def __init__(
        self,
        pool: JobPool,
        connection: JobConnection,
        *,
        listener: Listener,
        times: ReportTimes,
        in_thread: InThread,
        in_loose_thread: InThread,
    ) -> None:
        """`in_thread` finishes what it has begun; what `in_loose_thread` runs is abandoned when it is cancelled."""
        self.job = Job(connection.place)
        self.view = View()
        self.diagnosis: dict[str, Any] | None = None  # why it still runs, after a `wait` that it outlasted
        self.editors: tuple[str, ...] = ()  # what ended a `wait`: editors that no person can use
        self.serves = False  # what ended a `wait`: the job only waits for connections
        self._decisive: Event | None = None  # the last event that gave the caller something to decide
        self._pool = pool
        self._connection = connection
        self._listener = listener
        self._times = times
        self._in_thread = in_thread
        self._in_loose_thread = in_loose_thread
        self._over = connection.ended
        self._syncs: list[asyncio.Future[Any]] = []  # bring its record and the names of its files to the disk beside it

    # --- waiting --------------------------------------------------------------------------------------------

    async def wait_until_started(self) -> None:
        """Wait until it runs, or the record says why not. UnhangError: nothing could be started at all."""
        self._sync_beside(sync_parents)
        try:
            if not self._connection.told:
                await self._connection.wait_until_written_async()
            early = self._connection.written
            if early:
                self._sync_beside(sync_record)
            await self._connection.wait_until_started_async(self._in_thread)
        except BaseException:
            self.finish()
            raise
        self._over = self._connection.ended
        if not early:
            self._sync_beside(sync_record)

    def _sync_beside(self, sync: Callable[[JobDir], None]) -> None:
        """Its keeper leaves that to a caller that waits for the end, who has the time for it while the job runs."""
        if not self._connection.told:
            self._syncs.append(asyncio.ensure_future(self._in_loose_thread(sync, self.job.place)))

    async def wait(self, seconds: float, gone: asyncio.Event | None = None, *, decides: bool = True) -> bool:
        """Wait for its end, or until the caller has something to decide. False: the job goes on.

        `decides` False: for a caller that takes no decisions, only its end counts. CallerGone: `gone` was set.
        """
        deadline = time.monotonic() + seconds
        report = time.monotonic() + self._times.first
        why = LateDiagnosis(self.job, seconds, self._in_loose_thread)
        early = EarlyLook(self.job, self._in_loose_thread)
        try:
            while not self._over:
                await self._tell_news()
                now = time.monotonic()
                if gone is not None and gone.is_set():
                    raise CallerGone
                if now >= deadline:
                    await why.finish()
                    break
                if decides and (self._undecided() or early.decided or why.found is not None):
                    break
                if now >= report:
                    report = now + self._times.every
                    await self._report()
                why.poll(now)
                early.poll(now)
                await self._listen(
                    min(deadline, report, why.wake_at(deadline), early.wake_at(deadline), now + _CHECK) - now
                )
        finally:
            why.close()
            early.close()
        self.diagnosis = why.found or early.diagnosis
        self.editors, self.serves = early.seen.editors, early.serves
        return await self._has_ended()

    def _undecided(self) -> bool:
        """Whether an event has given the caller something to decide that nothing has settled since."""
        return self._decisive is not None and still_open(self._decisive, self.view)

    async def first_output(self, seconds: float) -> bool:
        """Wait until a job that never ends listens, or has printed something and paused. True: it has ended."""
        deadline = time.monotonic() + seconds
        look_at_tree = since = time.monotonic()
        mark = output_mark(self.job.place)
        listens = False
        while not self._over and (now := time.monotonic()) < deadline:
            printed = output_mark(self.job.place)
            if printed != mark:
                mark, since = printed, now
            if not listens and now >= look_at_tree:  # an editor is among the first things that it starts
                seen = await self._in_thread(look_at, self.job)
                listens = bool(seen.listening)
                self.editors = seen.editors
                if seen.editors:
                    break
                look_at_tree = time.monotonic() + _TREE_LOOK
            if (mark or listens) and now >= since + (_QUIET if listens else _QUIET_UNLESS_LISTENING):
                break
            await self._listen(min(_LOOK, deadline - now))
        return await self._has_ended()

    async def _has_ended(self) -> bool:
        await self._tell_news()
        if self._over:
            for sync in self._syncs:
                await sync
        return self._over and (self.view.ended or await self._in_thread(reconcile.settle, self.job.place))

    async def _listen(self, seconds: float) -> None:
        """Until the keeper reports something, at most for so many seconds."""
        if seconds <= 0:
            await asyncio.sleep(0)
        elif not await self._connection.hear_async(seconds) or self._connection.ended:
            self._over = True

    async def _tell_news(self) -> None:
        for event in self._connection.new_events():
            self.view.apply(event)
            if decides(event):
                self._decisive = event
            await self._listener.tell(self.job, event)
            if audience(event).client:
                await self._report()

    async def _report(self) -> None:
        line = await self._in_thread(progress_line, self.job, self.view)
        hard = self.view.limits.get("hardMs", {}).get("value")
        await self._listener.progress(line, None if hard is None else hard / 1000)

    # --- the end of the call --------------------------------------------------------------------------------

    async def release(self) -> None:
        """Let the job outlive this process, and go on listening to it."""
        await self._be_told()
        self._pool.release(self.job)

    async def hand_over(self, *, held: bool = False) -> None:
        """Let the job live by itself; it is not listened to any more. `held`: it still ends with this process."""
        await self._be_told()
        if not held:
            self._pool.release(self.job)
        self._connection.close()

    async def _be_told(self) -> None:
        """The caller is about to tell of a job that runs: from then on it must not be forgotten."""
        self._pool.get_ready()
        await self._in_thread(connections.make_durable, self.job.place)

    def finish(self) -> None:
        """Note that the job has ended."""
        self._pool.forget(self.job)
        self._connection.close()
        asyncio.get_running_loop().call_later(_UNTIL_NEXT, self._pool.get_ready)

    async def end(self, by: str) -> None:
        """End the job with its call. The keeper does it step by step; nothing is waited for but its answer."""
        await self._in_thread(_cancel, self.job, by)
        self.finish()


def _cancel(job: Job, by: str) -> None:
    try:
        job.cancel(wait=False, by=by)
    except (UnhangError, OSError):
        pass  # its keeper does not answer: the lease ends it, or its limits do
