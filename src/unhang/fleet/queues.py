"""The queues as the server has them: read as they change, and changed only behind what was read."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, TypeVar

from unhang.core.fleet import subjects
from unhang.core.fleet.queue import ENDED, QueuedJob, QueueSettings, read_job, read_settings, read_worker
from unhang.errors import AmbiguousJob, NoSuchJob, UnhangError
from unhang.fleet.connection import ServerAway
from unhang.procs import clock
from unhang.store.layout import new_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from unhang.core.fleet.queue import Worker
    from unhang.core.fleet.task import Task
    from unhang.fleet.connection import Connection

_T = TypeVar("_T")
# A change that another came before is tried again on what is there then; no queue has so many writers of one job.
_TRIES = 20
_LAG = 0.02
# How long a server may have no leader while a job is submitted.
_ELECTION, _AGAIN = 15.0, 0.25


class Mirror:
    """The jobs and the settings of a queue (`*`: of all), as far as they were read or told.

    `lean`: without those that have ended, of which there may be many.
    """

    def __init__(self, queue: str, *, lean: bool = False) -> None:
        self.jobs: dict[str, QueuedJob] = {}
        self._lean = lean
        self._over: dict[str, int] = {}  # where the end of each that is left out was said
        self._settings: dict[str, QueueSettings] = {}
        self._queue = queue
        self._place = 0

    def settings(self, queue: str) -> QueueSettings:
        """Return what holds for this queue."""
        return self._settings.get(queue, QueueSettings())

    @property
    def queues(self) -> list[str]:
        """Return the names of all queues that have a job or settings."""
        return sorted({*self._settings, *(job.queue for job in self.jobs.values())})

    def take(self, subject: str, place: int, data: bytes) -> bool:
        """Take a message of the server; False: it says nothing new."""
        parts = subject.split(".")
        if len(parts) == 4 and parts[3] == "settings":
            if place <= self.settings(parts[2]).place:
                return False
            self._settings[parts[2]] = read_settings(data, place)
            return True
        job = read_job(data, place) if len(parts) == 5 else None
        return job is not None and (job.queue, job.id) == (parts[2], parts[4]) and self.know(job)

    def place_of(self, job: str) -> int:
        """Return where the last that is known of a job was said; 0: nothing is known of it."""
        known = self.jobs.get(job)
        return self._over.get(job, 0) if known is None else known.place

    def know(self, job: QueuedJob) -> bool:
        """Take a job as the server has stored it; False: it is no news."""
        if job.place <= self.place_of(job.id):
            return False
        self.jobs[job.id] = job
        if self._lean and job.state == ENDED:
            self._over[job.id] = job.place
            del self.jobs[job.id]
        return True

    async def catch_up(self, connection: Connection, at_least: int = 0) -> None:
        """Read what has changed since the last time; until this place is among it, if one is given."""
        subject = subjects.ALL_QUEUES if self._queue == "*" else f"unhang.queue.{self._queue}.>"
        while True:
            async for raw in connection.read(subjects.QUEUE, subject, self._place):
                self.take(raw.subject, raw.place, raw.data)
                self._place = max(self._place, raw.place)
            if self._place >= at_least:
                return
            await asyncio.sleep(_LAG)  # a copy that lags behind has answered

    def begin_again(self) -> None:
        """Forget everything: it may be another store, at the same address."""
        self.jobs.clear()
        self._over.clear()
        self._settings.clear()
        self._place = 0


async def submit(connection: Connection, job: QueuedJob, task: Task) -> QueuedJob:
    """Put a job into its queue; return it as the server has it. A leader that is being elected is waited for."""
    await _patiently(connection.prepare_queues)
    if task.checkout is not None:
        await _patiently(connection.prepare_patches)
    job = job.replace(id=new_id(), created=clock.now())
    data = task.to_bytes()
    signed = await _patiently(functools.partial(connection.signed, job.queue, job.id, data))
    order = await _first(connection, subjects.TASKS, subjects.task_of(job.queue, job.id), data, signed)
    job = job.replace(order=order)
    place = await _first(connection, subjects.QUEUE, subjects.queued_of(job.queue, job.id), job.to_bytes())
    return job.replace(place=place)


async def _first(
    connection: Connection, stream: str, subject: str, data: bytes, headers: Mapping[str, str] | None = None
) -> int:
    """Store the first message of a subject; return its place. An answer that was lost does no harm."""

    async def store() -> int:
        place = await connection.store(stream, subject, data, expected=0, headers=headers)
        if place is not None:
            return place
        # the answer to an earlier try was lost; a worker may have been quicker than we are
        async for raw in connection.read(stream, subject):
            if raw.data == data:
                return raw.place
        raise UnhangError("another job has this id: try again")

    return await _patiently(store)


async def _patiently(call: Callable[[], Awaitable[_T]]) -> _T:
    deadline = clock.monotonic() + _ELECTION
    while True:
        try:
            return await call()
        except ServerAway:
            if clock.monotonic() > deadline:
                raise
            await asyncio.sleep(_AGAIN)


async def newest(connection: Connection, job: QueuedJob) -> QueuedJob | None:
    """Return a job as the leader of the servers has it now."""
    raw = await connection.newest(subjects.QUEUE, subjects.queued_of(job.queue, job.id))
    return None if raw is None else read_job(raw.data, raw.place)


async def change(connection: Connection, job: QueuedJob) -> QueuedJob | None:
    """Store a change of a job behind the message that it was made from; None if another came first."""
    place = await connection.store(
        subjects.QUEUE, subjects.queued_of(job.queue, job.id), job.to_bytes(), expected=job.place
    )
    if place is None:
        return None
    if job.state == ENDED:  # what it ran is of no use any more, and may hold secrets
        try:
            await connection.store(subjects.TASKS, subjects.task_of(job.queue, job.id), b"")
        except UnhangError:
            pass  # it is dropped after a while
    return job.replace(place=place)


async def cancel_waiting(connection: Connection, job: QueuedJob, by: str, *, force: bool = False) -> QueuedJob:
    """Cancel a job that waits (`force`: one that runs, too: its worker is fenced); return what it has become."""
    for _ in range(_TRIES):
        if job.state == ENDED or (job.state != "queued" and not force):
            return job
        changed = await change(connection, job.cancelled(clock.now(), by))
        if changed is not None:
            return changed
        job = await newest(connection, job) or job
    raise UnhangError(f"job {job.id} changes all the time: try again")


async def set_queue(connection: Connection, queue: str, **changes: bool | int | None) -> QueueSettings:
    """Change the settings of a queue."""
    await connection.prepare_queues()
    subject = subjects.settings_of(queue)
    for _ in range(_TRIES):
        raw = await connection.newest(subjects.QUEUE, subject)
        known = QueueSettings() if raw is None else read_settings(raw.data, raw.place)
        wanted = known.replace(**changes)
        place = await connection.store(subjects.QUEUE, subject, wanted.to_bytes(), expected=known.place)
        if place is not None:
            return wanted.replace(place=place)
    raise UnhangError(f"the settings of queue {queue} change all the time: try again")


async def everything(connection: Connection, queue: str = "*") -> Mirror:
    """Return all queues as they are now; nothing where there are none."""
    mirror = Mirror(queue)
    await mirror.catch_up(connection)
    return mirror


async def workers(connection: Connection) -> list[Worker]:
    """Return the workers that are there."""
    said = await connection.bucket(subjects.WORKERS)
    found = [read_worker(key, data) for key, (data, _) in said.items()]
    return sorted(
        (worker for worker in found if worker is not None), key=lambda each: (each.queue, each.machine, each.id)
    )


async def holds(connection: Connection, queue: str) -> dict[str, tuple[int, bytes]]:
    """Return the last word about each job of a queue: its place, and what was said."""
    found = {}
    async for raw in connection.read(subjects.HOLDS, subjects.hold_of(queue, "*")):
        found[raw.subject.rpartition(".")[2]] = (raw.place, raw.data)
    return found


def one_of(found: list[QueuedJob], name: str) -> QueuedJob:
    """Return the job that a name means; raise AmbiguousJob or NoSuchJob."""
    if len(found) > 1:
        shown = sorted(job.id for job in found)
        raise AmbiguousJob(f"{name!r} could be any of {len(found)} jobs: {', '.join(shown[:10])}", shown)
    if not found:
        raise NoSuchJob(f"no such job in the queues: {name}; unhang ps --fleet --all lists them")
    return found[0]
