"""Waiting in an event loop for jobs that are there already: by inotify, with a check of the processes now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from unhang.core.decision import decides, still_open
from unhang.jobs import reconcile
from unhang.jobs.async_readable import Readable
from unhang.jobs.progress import progress_of_several
from unhang.jobs.results import view_of
from unhang.procs.wakeup import Wakeup
from unhang.store.reader import EventReader, last_event

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from unhang.core.events import Event
    from unhang.jobs.early_look import EarlyLook
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
    early: EarlyLook | None = None,
    until_decision: bool = False,
) -> set[str]:
    """Return the ids of the jobs that have ended, as soon as these are `enough` or the time is over. Ends no job.

    `until_decision`: also as soon as one of them gives its caller something to decide (`core.decision`), or asks for
    input already. `early`: also as soon as it sees that the job hangs for certain, or has opened an editor; a server is
    waited for.
    """
    began = time.monotonic()
    deadline, report = began + seconds, began + times.first
    ended: set[str] = set()
    readers = {job.id: _reader(job) for job in jobs}
    open_questions = _OpenQuestions(jobs) if until_decision else None
    try:
        async with Changes(jobs) as changes:
            while True:
                for job in jobs:
                    reader = readers[job.id]
                    for event in reader.read_new() if reader is not None else []:
                        await listener.tell(job, event)
                        if open_questions is not None:
                            open_questions.hear(job, event)
                    if job.id not in ended and await _has_ended(job, in_thread):
                        ended.add(job.id)
                now = time.monotonic()
                if enough(ended) or (diagnosis is not None and diagnosis.found is not None):
                    return ended
                if now >= deadline:
                    if diagnosis is not None:
                        await diagnosis.finish()
                    return ended
                if open_questions is not None and open_questions.any():
                    return ended
                if early is not None and early.decided and not early.serves:
                    return ended
                if now >= report:
                    report = now + times.every
                    running = [job for job in jobs if job.id not in ended]
                    await listener.progress(await in_thread(progress_of_several, running, len(jobs)))
                if diagnosis is not None:
                    diagnosis.poll(now)
                wake = deadline if diagnosis is None else diagnosis.wake_at(deadline)
                if early is not None:
                    early.poll(now)
                    wake = min(wake, early.wake_at(deadline))
                await changes.wait(max(0.0, min(deadline, report, wake) - now))
    finally:
        if diagnosis is not None:
            diagnosis.close()
        if early is not None:
            early.close()
        for reader in readers.values():
            if reader is not None:
                reader.close()


class _OpenQuestions:
    """What the callers of some jobs have to decide."""

    def __init__(self, jobs: list[Job]) -> None:
        self._views = {job.id: view_of(job.place) for job in jobs}
        self._decisive: dict[str, Event] = {}

    def hear(self, job: Job, event: Event) -> None:
        """Take one more event of a job into account."""
        self._views[job.id].apply(event)
        if decides(event):
            self._decisive[job.id] = event

    def any(self) -> bool:
        """Whether one of the jobs asks for input, or has given its caller something to decide since the wait began."""
        if any(view.needs_input is not None and not view.ended for view in self._views.values()):
            return True
        return any(still_open(event, self._views[name]) for name, event in self._decisive.items())


def _reader(job: Job) -> EventReader | None:
    """A reader of what is new from here on: what happened before the call is in the result."""
    last = last_event(job.place.events)
    try:
        return EventReader(job.place.events, after_seq=int(last["seq"]) if last else 0)
    except FileNotFoundError:
        return None


async def _has_ended(job: Job, in_thread: InThread) -> bool:
    return reconcile.has_ended(job.place) or await in_thread(reconcile.settle, job.place)
