"""Waiting for jobs that others have started: by inotify in the event loop, with a look after the truth now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

import anyio

from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.explain import Explanation
from unhang.faces.mcp.notifications import Notifications, progress_line
from unhang.jobs import reconcile
from unhang.jobs.handle import Job
from unhang.jobs.results import view_of
from unhang.procs.wakeup import Wakeup
from unhang.store.reader import EventReader, last_event

# A job whose keeper was killed writes nothing more: whoever waits has to ask.
_CHECK = 1.0
_NAP = 0.05


class Changes:
    """Wakes when anything happens to these jobs."""

    def __init__(self, jobs: list[Job]) -> None:
        self._wakeup = Wakeup()
        self._woken = asyncio.Event()
        self._watched = -1
        for job in jobs:
            self._wakeup.add_file(job.place.path)
            self._wakeup.add_file(job.place.events)

    async def wait(self, seconds: float) -> None:
        with anyio.move_on_after(min(seconds, _CHECK if self._watched >= 0 else _NAP)):
            await self._woken.wait()
        self._woken.clear()
        self._wakeup.clear()

    async def __aenter__(self) -> Changes:
        self._watched = self._wakeup.fd
        if self._watched >= 0:
            asyncio.get_running_loop().add_reader(self._watched, self._woken.set)
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._watched >= 0:
            asyncio.get_running_loop().remove_reader(self._watched)
        self._wakeup.close()


async def until(
    backend: Backend,
    jobs: list[Job],
    enough: Callable[[set[str]], bool],
    seconds: float,
    notices: Notifications,
    why: Explanation | None = None,
) -> set[str]:
    """The ids of those that have ended, as soon as these are `enough` or the time is over. Ends nothing."""
    settings = backend.settings
    began = time.monotonic()
    deadline, report = began + seconds, began + settings.first_progress
    ended: set[str] = set()
    readers = {job.id: _reader(job) for job in jobs}
    try:
        async with Changes(jobs) as changes:
            while True:
                for job in jobs:
                    reader = readers[job.id]
                    for event in reader.read_new() if reader is not None else []:
                        await notices.tell(job, event)
                    if job.id not in ended and await _is_over(backend, job):
                        ended.add(job.id)
                now = time.monotonic()
                if enough(ended) or now >= deadline:
                    return ended
                if now >= report:
                    report = now + settings.progress_every
                    running = [job for job in jobs if job.id not in ended]
                    await notices.progress(await backend.in_thread(_line, running, len(jobs)))
                if why is not None:
                    why.poll(now)
                wake = deadline if why is None else why.wake_at(deadline)
                await changes.wait(max(0.0, min(deadline, report, wake) - now))
    finally:
        if why is not None:
            why.close()
        for reader in readers.values():
            if reader is not None:
                reader.close()


def _reader(job: Job) -> EventReader | None:
    """From here on: what happened before the call is in the result."""
    last = last_event(job.place.events)
    try:
        return EventReader(job.place.events, after_seq=int(last["seq"]) if last else 0)
    except FileNotFoundError:
        return None


async def _is_over(backend: Backend, job: Job) -> bool:
    return reconcile.has_ended(job.place) or await backend.in_thread(reconcile.settle, job.place)


def _line(running: list[Job], count: int) -> str:
    shown = progress_line(running[0], view_of(running[0].place))
    return shown if count == 1 else f"{len(running)} of {count} jobs run; {running[0].id}: {shown}"[:190]
