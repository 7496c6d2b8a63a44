"""Waiting in an event loop for jobs that are there already: by inotify, with a check of the processes now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from unhang.jobs import reconcile
from unhang.jobs.progress import progress_of_several
from unhang.jobs.readable import Readable
from unhang.procs.wakeup import Wakeup
from unhang.store.reader import EventReader, last_event

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from unhang.jobs.handle import Job
    from unhang.jobs.late_diagnosis import LateDiagnosis
    from unhang.jobs.progress import InThread, Listener, ReportTimes


class Changes:
    """Wakes a task when anything happens to one of these jobs."""

    def __init__(self, jobs: list[Job]) -> None:
        self._wakeup = Wakeup()
        for job in jobs:
            self._wakeup.add_file(job.place.path)
            self._wakeup.add_file(job.place.events)
        self._readable = Readable(self._wakeup)

    async def wait(self, seconds: float) -> None:
        """Return when there may be something new, at the next check, or when the time is over."""
        await self._readable.wait(seconds)

    async def __aenter__(self) -> Changes:
        await self._readable.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._readable.__aexit__(kind, value, trace)
        self._wakeup.close()


async def wait_until(
    jobs: list[Job],
    enough: Callable[[set[str]], bool],
    seconds: float,
    *,
    in_thread: InThread,
    listener: Listener,
    times: ReportTimes,
    diagnosis: LateDiagnosis | None = None,
) -> set[str]:
    """Return the ids of the jobs that have ended, as soon as these are `enough` or the time is over. Ends no job."""
    began = time.monotonic()
    deadline, report = began + seconds, began + times.first
    ended: set[str] = set()
    readers = {job.id: _reader(job) for job in jobs}
    try:
        async with Changes(jobs) as changes:
            while True:
                for job in jobs:
                    reader = readers[job.id]
                    for event in reader.read_new() if reader is not None else []:
                        await listener.tell(job, event)
                    if job.id not in ended and await _has_ended(job, in_thread):
                        ended.add(job.id)
                now = time.monotonic()
                if enough(ended) or now >= deadline:
                    return ended
                if now >= report:
                    report = now + times.every
                    running = [job for job in jobs if job.id not in ended]
                    await listener.progress(await in_thread(progress_of_several, running, len(jobs)))
                if diagnosis is not None:
                    diagnosis.poll(now)
                wake = deadline if diagnosis is None else diagnosis.wake_at(deadline)
                await changes.wait(max(0.0, min(deadline, report, wake) - now))
    finally:
        if diagnosis is not None:
            diagnosis.close()
        for reader in readers.values():
            if reader is not None:
                reader.close()


def _reader(job: Job) -> EventReader | None:
    """A reader of what is new from here on: what happened before the call is in the result."""
    last = last_event(job.place.events)
    try:
        return EventReader(job.place.events, after_seq=int(last["seq"]) if last else 0)
    except FileNotFoundError:
        return None


async def _has_ended(job: Job, in_thread: InThread) -> bool:
    return reconcile.has_ended(job.place) or await in_thread(reconcile.settle, job.place)
