"""The publisher: one process a home that brings what its keepers and watchers record to the fleet's server.

It only reads: a keeper or a hook neither knows of it nor waits for it, and a server that is away makes it wait alone.
It says that the machine is there, and has the machine's commands answered (`command_server.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

from unhang import __version__
from unhang.core.fleet import subjects
from unhang.core.fleet.presence import EVERY
from unhang.core.fleet.rows import row_to_publish
from unhang.errors import UnhangError, UsageError
from unhang.fleet import note
from unhang.fleet.command_server import CommandServer
from unhang.fleet.connection import ServerAway
from unhang.fleet.end_tasks import end
from unhang.fleet.job_rows import JobRows
from unhang.fleet.lasting_service import LastingService
from unhang.fleet.session_rows import SessionRows
from unhang.fleet.spool import LOOK, NAP, Spool
from unhang.jobs.listing import list_jobs, row_of
from unhang.jobs.outlook import outlooks, ports_of
from unhang.procs import clock
from unhang.store.layout import JobDir
from unhang.store.reader import last_event

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.fleet.connection import Connection
    from unhang.fleet.spool import LogSpool

# Messages of one job before the others have their turn; jobs whose messages are under way at the same time.
_MOST_MESSAGES, _AT_ONCE = 16, 32
# Between two rounds, so that what happens together goes in one message; and between two rows of the same job: where its
# state is another, and where only its output, its clocks or its usage have moved on.
_PAUSE, _ROW_PAUSE, _MOVING_PAUSE = 0.05, 1.0, 5.0
_MOVING = ("entry", "seq", "endsAt")
# Until a server that is away is tried again.
_AWAY = 1.0
# So many words of presence between two that are kept.
_KEPT_WORD = 4


class Publisher:
    """Publishes one home under one name until SIGTERM or SIGINT. `tell` is given lines for people.

    `place`: the home's place of a publisher, where it says since when its server is away.
    """

    def __init__(
        self, home: str, home_id: str, machine: str, address: str, tell: Callable[[str], None], place: int
    ) -> None:
        self._home = home
        self._home_id = home_id
        self._machine = machine
        self._address = address
        self._tell = tell
        self._place = place
        self._is_away = False
        self._spool = Spool(home, machine)
        self._rows: dict[str, dict[str, Any]] = {}
        self._row_at: dict[str, float] = {}
        self._row_due: set[str] = set()
        self._use_due = False
        self._ports: dict[str, list[str]] = {}
        self._job_rows = JobRows(home)
        self._session_rows = SessionRows(home)
        self._store = ""

    def run(self) -> int:
        """Publish until a signal ends it; return 0."""
        try:
            asyncio.run(self._run())
        finally:
            self._spool.close()
        return 0

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        self._wake = asyncio.Event()
        self._rows_wake = asyncio.Event()
        self._looked = asyncio.Event()  # at all jobs, once
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        if self._spool.fd >= 0:
            loop.add_reader(self._spool.fd, self._woken)
        consequence = "jobs go on, and what they record waits on disk"
        self._service = LastingService(self._address, self._stop, self._tell, consequence, self._changed)
        await self._service.run(self._serve, _AWAY, patient=True)

    def _woken(self) -> None:
        self._spool.clear()
        self._wake.set()

    def _changed(self, there: bool) -> None:
        self._note(there)
        if there:
            self._store = ""  # it may be another store, at the same address
        self._wake.set()

    def _note(self, there: bool) -> None:
        if there == self._is_away:
            self._is_away = not there
            with contextlib.suppress(OSError):  # a full disk: only doctor is told less
                note.sign(self._place, clock.now() if self._is_away else "")

    async def _serve(self, connection: Connection) -> None:
        await self._begin(connection)
        where = note.without_password(self._address)
        if not self._service.begun:
            # not before: a home must not take another machine's jobs for its own
            note.write(self._home, server=self._address, machine=self._machine)
            self._tell(f"joined {where} as {self._machine}")
        self._service.begun = True
        self._service.say_back()
        self._note(True)
        answerer = CommandServer(self._home, connection)
        await connection.serve(subjects.requests_of(self._machine), answerer.take)
        await connection.serve(subjects.questions_of(self._machine), answerer.take_question)
        tasks = [
            asyncio.ensure_future(each)
            for each in (self._pump(connection), self._publish_rows(connection), self._say_presence(connection))
        ]
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            done, _ = await asyncio.wait({*tasks, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end((*tasks, stop))
            await answerer.close()
            self._spool.save()
        for task in done - {stop}:
            task.result()
        if self._stop.is_set() and connection.connected:
            await self._leave(connection)

    async def _begin(self, connection: Connection) -> None:
        """Make what is missing on the server, take our name, and learn whether it is the store we know."""
        await connection.prepare()
        fresh, other = await connection.claim(self._machine, self._word())
        if other is not None:
            raise UsageError(
                f"another home has the name {self._machine!r} (last seen {other.seen}): give --machine NAME, "
                f"or free the name of one that is gone: unhang fleet forget {self._machine}"
            )
        self._store = await connection.identity()
        self._spool.begin(self._store, fresh=fresh)
        self._rows.clear()

    async def _leave(self, connection: Connection) -> None:
        """Say the last word: from now on the machine is offline."""
        try:
            await connection.put(subjects.MACHINES, self._machine, self._word())
            await connection.delete(subjects.PRESENCE, self._machine)
        except UnhangError:
            pass  # it will be found out

    # --- presence ---------------------------------------------------------------------------------------------

    def _word(self) -> dict[str, Any]:
        word = {
            "home": self._home_id,
            "version": __version__,
            "load": round(os.getloadavg()[0], 2),
            "cores": os.cpu_count(),
        }
        if self._looked.is_set():  # before that, none would be no number but ignorance
            word["jobs"] = sum(spool.is_job and not spool.ended for spool in self._spool.logs.values())
            word["behind"] = sum(spool.behind for spool in self._spool.logs.values())
        return word

    async def _say_presence(self, connection: Connection) -> None:
        count = 0
        try:
            await asyncio.wait_for(self._looked.wait(), EVERY)
        except TimeoutError:
            pass  # that it is here matters more than what it has
        while not connection.closed:
            try:
                word = self._word()
                await connection.put(subjects.PRESENCE, self._machine, word)
                if count % _KEPT_WORD == 0:
                    await connection.put(subjects.MACHINES, self._machine, word)
                count += 1
            except ServerAway:
                await asyncio.sleep(_AWAY)
                continue
            await asyncio.sleep(EVERY)

    # --- events -----------------------------------------------------------------------------------------------

    async def _pump(self, connection: Connection) -> None:
        looked = 0.0
        limit = asyncio.Semaphore(_AT_ONCE)

        async def push(spool: LogSpool) -> None:
            async with limit:
                await self._push(connection, spool)

        while not connection.closed:
            self._wake.clear()
            try:
                if not self._store:
                    await self._begin(connection)
                if time.monotonic() >= looked + LOOK:
                    await self._look()
                    looked = time.monotonic()
                for part in self._spool.look():
                    await self._remove(connection, part)
                ready = [spool for spool in self._spool.logs.values() if spool.behind]
                # each at its own pace; the first that finds the server away ends the round when all have tried
                for problem in await asyncio.gather(*map(push, ready), return_exceptions=True):
                    if isinstance(problem, BaseException):
                        raise problem
                self._looked.set()
            except ServerAway:
                await asyncio.sleep(_AWAY)
                continue
            if any(spool.behind and spool.chain.sure and spool.lines() for spool in ready):
                continue
            try:
                async with asyncio.timeout(NAP if self._spool.restless else LOOK):
                    await self._wake.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(_PAUSE)

    async def _push(self, connection: Connection, spool: LogSpool) -> None:
        """Bring what is new of one job or session to the server."""
        for _ in range(_MOST_MESSAGES):
            if not spool.chain.sure:
                spool.resume(await connection.last_of(spool.chain.subject))
                spool.check_end()
                self._mark(spool.part)
            lines = spool.lines()
            message = spool.chain.next(lines)
            if message is None:
                return
            try:
                place = await connection.publish(message)
            except BaseException:
                spool.chain.doubt()  # it may have been stored, or may still be
                raise
            if place is None:
                spool.chain.doubt()
            else:
                spool.stored(lines, place)
                self._mark(spool.part)

    # --- rows -------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Look at all that runs: a job whose keeper was killed is recorded as lost by this, and so published.

        That the process of a session is gone need not be recorded: its row says so.
        """
        running = await asyncio.to_thread(list_jobs, self._home, running_only=True)
        self._ports = await asyncio.to_thread(ports_of, self._home, [row.id for row in running])
        self._use_due = True
        for row in running:
            self._mark(row.id)
        for part, spool in self._spool.logs.items():
            if not spool.is_job and self._rows.get(part, {}).get("status") == "running":
                self._mark(part)
        self._spool.save()

    async def _remove(self, connection: Connection, part: str) -> None:
        await connection.delete(subjects.ROWS, subjects.row_key(self._machine, part))
        self._spool.done.discard(part)
        self._rows.pop(part, None)
        self._row_due.discard(part)
        self._job_rows.forget(part)
        self._session_rows.forget(subjects.session_in(part) or "")

    def _mark(self, part: str) -> None:
        """Something of the row of this job or session may have changed."""
        self._row_due.add(part)
        self._rows_wake.set()

    async def _publish_rows(self, connection: Connection) -> None:
        last: dict[str, float] = {}
        while not connection.closed:
            if not self._row_due:
                self._rows_wake.clear()
                await self._rows_wake.wait()
            if self._use_due:
                self._use_due = False
                await asyncio.to_thread(self._job_rows.use)
            now = time.monotonic()
            try:
                for job in [job for job in self._row_due if now >= last.get(job, -_ROW_PAUSE) + _ROW_PAUSE]:
                    self._row_due.discard(job)
                    last[job] = time.monotonic()
                    if await self._publish_row(connection, job):
                        last.pop(job)
            except ServerAway:
                await asyncio.sleep(_AWAY)
            await asyncio.sleep(_PAUSE)

    async def _publish_row(self, connection: Connection, job: str) -> bool:
        """Publish a row if it is another than before; True: the job is done, nothing of it will follow."""
        spool = self._spool.logs.get(job)
        ended = spool is not None and spool.ended
        row = await asyncio.to_thread(self._row, job)
        if row is None:
            return False
        if row != self._rows.get(job):
            if not ended and self._is_early(job, row):
                self._row_due.add(job)
                return False
            try:
                await connection.put_row(self._machine, job, row)
            except BaseException:
                self._row_due.add(job)  # until it is there; what was marked meanwhile stays due in any case
                raise
            self._rows[job], self._row_at[job] = row, time.monotonic()
        if ended and row["status"] != "running":
            self._spool.finish(job)
            self._rows.pop(job, None)
            self._row_at.pop(job, None)
            self._job_rows.forget(job)
            return True
        return False

    def _is_early(self, job: str, row: dict[str, Any]) -> bool:
        """Whether a row that has only moved on can wait: a thousand machines publish to the same bucket."""
        before = self._rows.get(job)
        if before is None or any(row.get(name) != before.get(name) for name in row if name not in _MOVING):
            return False
        return time.monotonic() < self._row_at.get(job, 0.0) + _MOVING_PAUSE

    def _row(self, job: str) -> dict[str, Any] | None:
        session = subjects.session_in(job)
        if session is not None:
            return self._session_rows.of(session)
        place = JobDir(self._home, job)
        try:
            row = row_of(place)
            if row is None:
                return None
            seq = int((last_event(place.events) or {}).get("seq", 0))
            found = outlooks(self._home, [row], ports=False, lasting=True)[0]
        except (UnhangError, OSError):
            return None  # removed while we looked
        ports = [] if row.final else self._ports.get(job, [])
        made = row_to_publish(found.replace(ports=ports).to_json(self._home), seq, time.time())
        return made | {"entry": self._job_rows.of(job)}
