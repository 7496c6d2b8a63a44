"""A lasting connection to the fleet for a surface with threads of its own (`unhang web`, `unhang top`).

One thread runs the event loop: it keeps the rows and who is there up to date, and carries questions to the machines
that own the jobs. Everything public here may be called from any other thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from unhang.core.fleet import subjects
from unhang.core.fleet.presence import BELIEVED
from unhang.core.fleet.queue import RUNNING, in_order
from unhang.core.fleet.queue_rows import unpublished
from unhang.core.fleet.requests import STDERR, STDOUT, Request
from unhang.core.record import Record
from unhang.errors import ControlError, NoSuchJob, UnhangError
from unhang.fleet import queues
from unhang.fleet.command_client import ask
from unhang.fleet.connection import ServerAway, connect
from unhang.fleet.end_tasks import end
from unhang.fleet.view import PublishedLog
from unhang.jobs.output_viewer import get_or_make

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from unhang.core.events import Event
    from unhang.core.fleet.presence import Machine
    from unhang.core.fleet.queue import QueuedJob, Worker
    from unhang.fleet.connection import Connection

    Row = dict[str, Any]

_T = TypeVar("_T")
# How often to look who is there, and for rows without a word that there are new ones.
_LOOK = 2.5
# What happens together is read together.
_PAUSE = 0.1
_AWAY = 1.0
# The longest wait for an answer that comes in one piece.
_PATIENCE = 60.0
# Jobs that wait in queues and are shown: those that come first.
_MOST_QUEUED = 200
# Logs that are kept, of the jobs that people look at.
_KEPT = 16


class FleetState(Record):
    """What is known of the fleet at one moment. `fresh`: whether the server was there lately to say who is there.

    `rows`, `sessions`: those of jobs and of sessions, by machine and id. `queued`: the rows of jobs of queues that no
    machine shows.
    """

    rows: dict[tuple[str, str], Row]
    sessions: dict[tuple[str, str], Row]
    machines: dict[str, Machine]
    fresh: bool
    queued: list[Row]

    def machine(self, name: str) -> Machine | None:
        """Return what is known of a machine: online only if the server was there lately; None: nothing."""
        found = self.machines.get(name)
        return found if found is None or self.fresh else found.replace(online=False)


class FleetLink:
    """Connects at once. Raises ServerAway or ServerRefused as `connect` does; afterwards a server may go and come."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], Row] = {}
        self._sessions: dict[tuple[str, str], Row] = {}
        self._machines: dict[str, Machine] = {}
        self._mirror = queues.Mirror("*", lean=True)
        self._workers: list[Worker] = []
        self._queued: list[Row] = []
        self._seen = time.monotonic()
        self._anew = False
        self._logs: OrderedDict[tuple[str, str], PublishedLog] = OrderedDict()
        self._news = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)
        self._thread.start()
        try:
            self._connection: Connection = self._call(connect(address, lasting=True, on_change=self._changed))
            self._call(self._first())
        except BaseException:
            self._end_thread()
            raise
        asyncio.run_coroutine_threadsafe(self._watch(), self._loop)

    @property
    def fd(self) -> int:
        """Return a descriptor that is readable when there may be something new."""
        return self._news

    def clear(self) -> None:
        """Forget what woke us, before looking."""
        try:
            os.eventfd_read(self._news)
        except BlockingIOError:
            pass

    def state(self) -> FleetState:
        """Return what is known now."""
        with self._lock:
            fresh = time.monotonic() < self._seen + BELIEVED
            return FleetState(dict(self._rows), dict(self._sessions), self._machines, fresh, self._queued)

    def close(self) -> None:
        """End the connection and the thread."""
        try:
            self._call(self._connection.close())
        except UnhangError:
            pass
        self._end_thread()

    def _end_thread(self) -> None:
        self._call(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()
        os.close(self._news)

    async def _end_tasks(self) -> None:
        await end(asyncio.all_tasks() - {asyncio.current_task()})

    # --- questions --------------------------------------------------------------------------------------------

    def ask(self, machine: str, request: Request) -> bytes:
        """Have the owner of a job carry out a command; return what it prints. Raises ControlError where it fails."""
        pieces: dict[str, list[bytes]] = {STDOUT: [], STDERR: []}
        code = self._call(ask(self._connection, machine, request, lambda kind, data: pieces[kind].append(data)))
        if code:
            said = b"".join(pieces[STDERR]).decode("utf-8", "replace").strip().removeprefix("unhang: ")
            error = ControlError(f"{machine}: {said or f'{request.do} ended with {code}'}")
            error.exit_code = code
            raise error
        return b"".join(pieces[STDOUT])

    def cancel_queued(self, job: str) -> QueuedJob:
        """Cancel a job that waits in a queue, or for another worker since its own is gone; return what it has become.

        Raises NoSuchJob.
        """
        known = self._mirror.jobs.get(job)
        if known is None:
            raise NoSuchJob(f"job {job} does not wait any more")
        machine = self.state().machine(known.machine)
        workers = [worker.id for worker in self._workers]
        left = machine is not None and machine.online and known.state == RUNNING and known.worker not in workers
        return self._call(queues.cancel_waiting(self._connection, known, "unhang cancel", force=left))

    def events(self, machine: str, job: str, after: int, limit: int) -> list[Event]:
        """Return events of a job that the server has, after this number."""
        return self._call(self._events(machine, job, after))[:limit]

    async def _events(self, machine: str, job: str, after: int) -> list[Event]:
        log: PublishedLog = get_or_make(self._logs, (machine, job), PublishedLog, _KEPT)
        async with log.lock:
            await log.read(self._connection, machine, job)
            return log.after(after)

    def _call(self, what: Coroutine[Any, Any, _T]) -> _T:
        try:
            return asyncio.run_coroutine_threadsafe(what, self._loop).result(_PATIENCE)
        except TimeoutError:
            raise ServerAway("there is no answer") from None

    # --- in the loop ------------------------------------------------------------------------------------------

    def _changed(self, there: bool) -> None:
        self._anew = self._anew or there  # it may be another store, at the same address

    async def _first(self) -> None:
        self._place = 0
        await self._read_rows()
        await self._read_machines()
        await self._read_queues()

    async def _watch(self) -> None:
        heard = await self._connection.rows_heard()
        await self._connection.told(subjects.ALL_QUEUES_LIVE, lambda *_: heard.wake.set())
        looked = time.monotonic()
        while True:
            try:
                async with asyncio.timeout(_LOOK):
                    await heard.wake.wait()
                await asyncio.sleep(_PAUSE)
            except TimeoutError:
                pass
            heard.wake.clear()
            try:
                await self._read_rows()
                while await heard.catch_up(self._place):
                    await self._read_rows()
                await self._read_queues()
                if time.monotonic() >= looked + _LOOK:
                    await self._read_machines()
                    looked = time.monotonic()
            except UnhangError:
                await asyncio.sleep(_AWAY)
            os.eventfd_write(self._news, 1)

    async def _read_rows(self) -> None:
        anew, self._anew = self._anew, False
        try:
            found, place = await self._connection.rows_after(0 if anew else self._place)
        except UnhangError:
            self._anew = anew
            raise
        with self._lock:
            if anew:
                self._rows.clear()
                self._sessions.clear()
                self._logs.clear()
                self._mirror.begin_again()
            for (machine, part), row in found.items():
                session = subjects.session_in(part)
                held = self._rows if session is None else self._sessions
                where = (machine, part if session is None else session)
                if row is None:
                    held.pop(where, None)
                else:
                    held[where] = row
        self._place = place

    async def _read_queues(self) -> None:
        await self._mirror.catch_up(self._connection)
        jobs = [job for job in self._mirror.jobs.values() if job.state == RUNNING]
        jobs += in_order(self._mirror.jobs.values())[:_MOST_QUEUED]
        found = unpublished(self._rows.values(), jobs, self._mirror.settings, self._workers, self._machines)
        with self._lock:
            self._queued = found

    async def _read_machines(self) -> None:
        self._workers = await queues.workers(self._connection)
        found = await self._connection.machines()
        with self._lock:
            self._machines, self._seen = found, time.monotonic()
