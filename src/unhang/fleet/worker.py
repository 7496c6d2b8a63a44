"""The worker: takes jobs of a queue while it has room, and runs each in a keeper as any other job of its machine.

A job is taken by one change of its record on the server (core/fleet/queue.py). While it runs, the worker says on the
job's own subject that its keeper lives: it looks at the keeper's claim before each word, so a worker whose keeper is
gone says nothing. Each stored word is passed on to the tether (fleet/tether.py), which ends the job if the next one
does not come. What others have taken from us is ended here, and nothing is said of it.

A job with a checkout runs in one of its own (fleet/checkouts.py), and what it has changed there is kept on the server
before its end is recorded. A job that makes the patch is held in its place meanwhile.

Every worker watches the other running jobs of its queue: one that was silent for its hold has lost its worker.

It keeps its machine in the fleet: a publisher that has ended is started again, or no viewer would see what runs here.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from unhang.agents.base.job import JobOptions
from unhang.agents.registry import from_elsewhere
from unhang.core import values
from unhang.core.durations import human
from unhang.core.fleet import subjects
from unhang.core.fleet.checkout import read_checkout
from unhang.core.fleet.hold import Silences, ended_after, grace_of, renewed_every
from unhang.core.fleet.presence import EVERY
from unhang.core.fleet.queue import QUEUED, RUNNING, may_stay, to_take
from unhang.core.fleet.rows import UNKNOWN
from unhang.core.fleet.task import read_task
from unhang.core.limit_request import read_limits
from unhang.errors import EXIT_FAILED, UnhangError
from unhang.fleet import checkouts, note, patches, queues, tether, worker_place
from unhang.fleet.connection import ServerAway, ServerRefused
from unhang.fleet.end_tasks import end
from unhang.fleet.lasting_service import LastingService
from unhang.jobs import reconcile
from unhang.jobs.handle import Job
from unhang.jobs.request import prepare
from unhang.jobs.start import launch
from unhang.procs import clock
from unhang.store import claim, records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from unhang.core.fleet.queue import QueuedJob, Worker
    from unhang.core.fleet.task import Task
    from unhang.core.result import Result
    from unhang.fleet.connection import Connection
    from unhang.jobs.connection import JobConnection
    from unhang.jobs.request import Prepared
    from unhang.store.layout import JobDir

# How often the queue is read where nothing was told; and after a claim that another came before.
_LOOK, _AGAIN = 2.0, 0.1
_AWAY = 0.5
# A worker that is to end tries for so long to say what became of its jobs while the server is away; who ended it waits.
_LAST_WORDS = 5.0
# How long the server may take none of a patch before it is given up.
_UPLOAD = 60.0
# The longest time between two looks at the words of other workers.
_WATCH = 5.0
# For how long its machine is without a publisher before the worker starts one: what ended it may do that at once. Where
# that fails it is tried again ever less often: it costs a process.
_UNPUBLISHED, _UNPUBLISHED_MOST = 15.0, 300.0
STOPPED = "unhang worker, which was stopped"
FENCED = "the fleet, since another worker has it"


class _Held:
    """A job that this worker has taken. `place` is its directory, once it has been started."""

    def __init__(self, job: QueuedJob) -> None:
        self.job = job
        self.place: JobDir | None = None
        self.ran_as = ""  # the id of the job itself, while `place` may be that of the job which makes its patch
        self.checkout = ""  # the place of its checkout
        self.said: int | None = None  # where the server has our last word
        self.renewed = 0.0  # when we began to say it
        self.over = False  # it has ended here
        self.fenced = False


class QueueWorker:
    """Serves one queue until SIGTERM (jobs are ended) or SIGUSR1 (jobs may end first). `tell`: lines for people."""

    def __init__(self, home: str, address: str, offer: Worker, tell: Callable[[str], None]) -> None:
        self._home = home
        self._address = address
        self._offered = offer.replace(since=clock.now())
        self._tell = tell
        self._mirror = queues.Mirror(offer.queue, lean=True)
        self._silences = Silences()
        self._held: dict[str, _Held] = {}
        self._tried: dict[str, tuple[int, float]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._started: set[tuple[str, int]] = set()  # what was given to a keeper, by attempt
        self._tether = tether.Tether()
        self._looked = 0.0  # when the queue was last read as a whole
        self._stopping = self._draining = False
        self._last_words = 0.0  # until when they are tried to be said

    def run(self) -> int:
        """Serve until it is told to end; return 0."""
        living = {path.rpartition(".")[2] for path in worker_place.living(self._home)}
        checkouts.sweep(self._home, {*living, self._offered.id})
        self._tether.start()
        try:
            asyncio.run(self._run())
        finally:
            self._tether.close()
        return 0

    # --- the server -------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._wake = asyncio.Event()
        self._said = asyncio.Event()
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._stop)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGUSR1, self._drain)
        loop.add_signal_handler(signal.SIGCHLD, self._tether.check)
        consequence = "a job that cannot be held is ended in time"
        self._service = LastingService(self._address, self._over, self._tell, consequence, self._changed)
        await self._service.run(self._serve, _AWAY, patient=False)

    def _changed(self, there: bool) -> None:
        self._silences.doubt()
        if there:
            self._mirror.begin_again()
            self._looked = 0.0
        self._wake.set()

    async def _serve(self, server: Connection) -> None:
        self._server = server
        await server.prepare_queues()
        self._mirror.begin_again()
        unheard = await server.told(subjects.queue_live(self._offered.queue), self._hear)
        await self._mirror.catch_up(server)
        await self._say(server)
        offer = self._offered
        if not self._service.begun:
            self._service.begun = True
            where = note.without_password(self._address)
            self._tell(f"worker {offer.id} on {offer.machine} takes jobs of queue {offer.queue} at {where}")
        self._service.say_back()
        tasks = [
            asyncio.ensure_future(each)
            for each in (
                self._work(server),
                self._watch(server),
                self._say_often(server),
                self._stay_in_the_fleet(server),
            )
        ]
        over = asyncio.ensure_future(self._over.wait())
        try:
            done, _ = await asyncio.wait({*tasks, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end((*tasks, over))
            await unheard()
        for task in done - {over}:
            task.result()
        if self._over.is_set() and server.connected:
            try:
                await server.delete(subjects.WORKERS, subjects.worker_key(offer.queue, offer.machine, offer.id))
            except UnhangError:
                pass  # the server forgets it by itself

    def _hear(self, subject: str, place: int, data: bytes) -> None:
        if self._mirror.take(subject, place, data):
            self._wake.set()

    # --- the end ----------------------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        if self._draining:
            self._stop()
        else:
            self._drain()

    def _drain(self) -> None:
        self._draining = True
        runs = {0: "none runs", 1: "1 still runs (Ctrl-C again ends it)"}
        count = len(self._held)
        self._tell(f"takes no more jobs; {runs.get(count, f'{count} still run (Ctrl-C again ends them)')}")
        self._said.set()
        self._wake.set()
        self._check_over()

    def _stop(self) -> None:
        if not self._stopping:
            self._last_words = clock.monotonic() + _LAST_WORDS
        self._draining = self._stopping = True
        for held in self._held.values():
            self._end(held, STOPPED)
        self._said.set()
        self._check_over()

    def _end_if_stopping(self, held: _Held) -> None:
        """It was being started while we were told to stop."""
        if self._stopping:
            self._end(held, STOPPED)

    def _check_over(self) -> None:
        if self._draining and not self._held:
            self._over.set()

    def _end(self, held: _Held, by: str) -> None:
        """End the job of a worker that stops, or a job that others have."""
        if held.place is not None:
            self._spawn(asyncio.to_thread(tether.end, held.place, grace_of(held.job.hold), by))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- who we are -------------------------------------------------------------------------------------------

    def _offer(self) -> Worker:
        held = [held.job for held in self._held.values()]
        return self._offered.replace(
            busy=len(held), memory_taken=sum(job.memory for job in held), draining=self._draining
        )

    async def _say(self, server: Connection) -> None:
        offer = self._offer()
        key = subjects.worker_key(offer.queue, offer.machine, offer.id)
        await server.put(subjects.WORKERS, key, offer.to_json())

    async def _say_often(self, server: Connection) -> None:
        while not server.closed:
            try:
                self._said.clear()
                await self._say(server)
                async with asyncio.timeout(EVERY):
                    await self._said.wait()
            except TimeoutError:
                continue
            except ServerAway:
                await asyncio.sleep(_AWAY)

    async def _stay_in_the_fleet(self, server: Connection) -> None:
        """Have our machine published again when its publisher has ended."""
        pause, told = _UNPUBLISHED, False
        due = clock.monotonic() + pause
        while not server.closed:
            await asyncio.sleep(EVERY)
            if await asyncio.to_thread(note.publisher, self._home) is not None:
                pause, told = _UNPUBLISHED, False
            elif clock.monotonic() < due:
                continue
            else:
                try:
                    await asyncio.to_thread(worker_place.machine_of, self._home, self._address)
                    self._tell("this machine was not published any more: it has joined the fleet again")
                except (UnhangError, OSError) as error:  # as where no process can be made just now: our jobs go on
                    if not told:
                        self._tell(f"this machine is not published any more, and its jobs are not seen: {error}")
                    told, pause = True, min(2 * pause, _UNPUBLISHED_MOST)
            due = clock.monotonic() + pause

    # --- taking jobs ------------------------------------------------------------------------------------------

    async def _work(self, server: Connection) -> None:
        while not server.closed:
            self._wake.clear()
            now = clock.monotonic()
            self._tried = {job: tried for job, tried in self._tried.items() if now < tried[1]}
            try:
                if now >= self._looked + _LOOK or self._tried:
                    self._looked = now
                    await self._mirror.catch_up(server)
                self._check_own()
                self._take()
            except ServerAway:
                await asyncio.sleep(_AWAY)
                continue
            try:
                async with asyncio.timeout(_AGAIN if self._tried else _LOOK):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _take(self) -> None:
        # what we are just about to claim counts as running
        known = [
            job.replace(state=RUNNING) if job.id in self._held and job.state == QUEUED else job
            for job in self._mirror.jobs.values()
            if self._tried.get(job.id, (0, 0.0))[0] != job.place
        ]
        for job in to_take(self._offer(), known, self._mirror.settings(self._offered.queue)):
            self._held[job.id] = _Held(job)
            self._spawn(self._have(self._held[job.id]))

    def _check_own(self) -> None:
        """End what others have by now; give back what is ours by a claim that was stored after we gave it up."""
        for held in self._held.values():
            if held.place is None or held.over or self._mirror.place_of(held.job.id) <= held.job.place:
                continue
            known = self._mirror.jobs.get(held.job.id)  # None: it has ended, and not by us
            if known is None or not known.is_of(self._offered.id, held.job.attempt):
                self._fence(held)
        for job in self._mirror.jobs.values():
            if job.state == RUNNING and job.worker == self._offered.id and job.id not in self._held:
                self._held[job.id] = _Held(job)
                self._spawn(self._return(self._held[job.id], "its worker gave it up"))

    async def _have(self, held: _Held) -> None:
        """Take a job, run it, record its end."""
        try:
            if await self._claim(held):
                await self._run_it(held)
        finally:
            if held.checkout and not await asyncio.to_thread(checkouts.remove, held.checkout):
                self._tell(f"job {held.job.id}: something is left of its checkout: {held.checkout}")
            self._held.pop(held.job.id, None)
            self._said.set()
            self._wake.set()
            self._check_over()

    async def _claim(self, held: _Held) -> bool:
        """Take a job; False if another has it, or if the queue runs as many as it may."""
        offer, job = self._offered, held.job
        claimed = job.claimed(offer.machine, offer.id)
        held.renewed = clock.monotonic()
        try:
            stored = await queues.change(self._server, claimed)
        except ServerAway:
            self._try_later(job)  # if it was stored, it is given back
            return False
        if stored is None:
            self._try_later(job)
            return False
        held.job = stored
        self._mirror.know(stored)
        self._said.set()
        settings = self._mirror.settings(offer.queue)
        if settings.max_running is not None:
            try:
                await self._mirror.catch_up(self._server, stored.place)
            except ServerAway:
                return False
            if not may_stay(stored, self._mirror.jobs.values(), self._mirror.settings(offer.queue)):
                await self._give_back(held, "the queue runs as many as it may")
                return False
        return True

    def _try_later(self, job: QueuedJob) -> None:
        self._tried[job.id] = (job.place, clock.monotonic() + _AGAIN)

    async def _return(self, held: _Held, why: str) -> None:
        now, started = clock.now(), (held.job.id, held.job.attempt) in self._started
        try:
            if started:  # it may have run, and must not be run again unless it may
                await self._store(held, lambda job: job.lost(now, why))
            else:
                await self._give_back(held, why)
        finally:
            self._held.pop(held.job.id, None)
            self._wake.set()
            self._check_over()

    async def _give_back(self, held: _Held, why: str) -> None:
        await self._store(held, lambda job: job.given_back(why))

    async def _store(self, held: _Held, become: Callable[[QueuedJob], QueuedJob]) -> bool:
        """Store what has become of our job; False if it is not ours any more: then nothing of ours is stored."""
        wanted = become(held.job)
        while True:
            try:
                stored = await queues.change(self._server, wanted)
                if stored is not None:
                    self._mirror.know(stored)
                    return True
                known = await queues.newest(self._server, held.job)
            except ServerAway:
                if self._stopping and clock.monotonic() > self._last_words:
                    return False  # it will be found out
                await asyncio.sleep(_AWAY)
                continue
            if known is not None and known.replace(place=0) == wanted.replace(place=0):
                self._mirror.know(known)  # it was stored, and the answer was lost
                return True
            if known is None or not known.is_of(self._offered.id, wanted.attempt):
                return False
            wanted = become(known)

    # --- running a job ----------------------------------------------------------------------------------------

    async def _run_it(self, held: _Held) -> None:
        at_first = clock.now()
        try:
            data = await self._server.task(held.job.queue, held.job.id)
        except ServerAway as error:
            await self._give_back(held, str(error))
            return
        task = None if data is None else read_task(data)
        if task is None:
            why = "what it was to run cannot be read, or no operator of this fleet has signed it"
            await self._store(held, lambda job: job.finished("", "error", "failed", EXIT_FAILED, at_first, why))
            return
        if self._stopping or clock.monotonic() >= held.renewed + ended_after(held.job.hold):
            # we were stopped in between, and others may have it
            await self._give_back(held, "its worker did not start it in time")
            return
        try:
            line = await asyncio.to_thread(self._launch, task, held)
        except (UnhangError, OSError, ValueError) as error:
            why, code = str(error), getattr(error, "exit_code", EXIT_FAILED)
            await self._store(held, lambda job: job.finished("", "error", "failed", code, at_first, why))
            return
        held.ran_as = line.place.id
        result = await self._until_ended(held, line)
        patch = await self._patch(held, result) if held.checkout else {}
        await self._record(held, result, patch)

    async def _until_ended(self, held: _Held, line: JobConnection) -> Result:
        """Hold a job that was given to a keeper until it has ended; return how."""
        place = held.place = line.place
        self._tether.hold(place, held.renewed + ended_after(held.job.hold), grace_of(held.job.hold))
        keeping = asyncio.ensure_future(self._keep(held))
        try:
            self._end_if_stopping(held)
            try:
                await line.wait_until_ended_async(asyncio.to_thread)
            except (UnhangError, OSError, ValueError) as error:  # it cannot be followed any more, so it must not run
                self._tell(f"job {held.job.id} ({place.id}): {error}; it is ended")
                await asyncio.to_thread(tether.end, place, grace_of(held.job.hold))
            return await self._result(place)
        finally:
            await end([keeping])
            self._tether.release(place)
            line.close()

    async def _result(self, place: JobDir) -> Result:
        """Return how a job has ended, when that is recorded: others may be about to find out and record it, too."""
        while True:
            try:
                if await asyncio.to_thread(reconcile.settle, place, birth=0.0):
                    return await asyncio.to_thread(Job(place).result)
            except (UnhangError, OSError):
                pass
            await asyncio.sleep(_AGAIN)

    def _launch(self, task: Task, held: _Held) -> JobConnection:
        job, checkout = held.job, read_checkout(task.checkout)
        if checkout is not None:
            name = f"{job.id}.{job.attempt}"
            held.checkout = checkouts.make(self._home, self._offered.id, name, checkout)
            task = task.replace(cwd=held.checkout)
        prepared = self._prepared(task, held)
        return launch(checkouts.in_checkout(prepared, held.checkout) if held.checkout else prepared)

    def _prepared(self, task: Task, held: _Held) -> Prepared:
        job = held.job
        self._started.add((job.id, job.attempt))
        labels = task.labels | {"queue": job.queue, "queued": job.id}
        own = {"UNHANG_QUEUE": job.queue, "UNHANG_QUEUE_JOB": job.id, "UNHANG_QUEUE_ATTEMPT": str(job.attempt)}
        if task.agent is not None:
            options = JobOptions(cwd=task.cwd, retry=task.retry, labels=labels, env=task.env | own)
            return from_elsewhere(task.agent, read_limits(task.limits), options)
        return prepare(
            task.argv if task.shell is None else task.shell,
            shell=task.shell is not None,
            cwd=task.cwd,
            env=task.env | own,
            stdin=task.stdin,
            pty=task.pty,
            size=(24, 80) if task.pty else None,
            keep=task.keep,
            foreground=False,
            labels=labels,
            asked=read_limits(task.limits),
            retry=task.retry,
        )

    # --- what a job has changed -------------------------------------------------------------------------------

    async def _patch(self, held: _Held, result: Result) -> dict[str, Any]:
        """Keep on the server what a job has changed in its checkout; return what its record says of it.

        However it has ended: half of a task may be worth keeping. Not if it is another worker's, or will be.
        """
        place = held.checkout
        if self._stopping or held.fenced or _is_let_go(result):
            return {"why": "its worker was stopped, or lost it"}
        if not await asyncio.to_thread(checkouts.base_of, place):
            return {"why": "nothing was checked out"}
        labels = {"queue": held.job.queue, "patch-of": held.ran_as}
        try:
            line = await asyncio.to_thread(lambda: launch(checkouts.patch_job(place, labels)))
            made = await self._until_ended(held, line)
        except (UnhangError, OSError) as error:
            return {"why": f"no patch could be made: {error}"}
        data, about = await asyncio.to_thread(checkouts.patch_of, place)
        if made.status != "success":  # whatever is there, its maker did not write it to the end
            data, about = b"", {name: about[name] for name in about if name == "why"}
        if not about:
            return {"why": f"no patch could be made: {made.outcome.get('message') or made.status}"}
        return await self._upload(held, data) or about

    async def _upload(self, held: _Held, data: bytes) -> dict[str, Any] | None:
        """Store a patch on the server; return why it could not be stored, or None."""
        for subject, piece in patches.pieces(held.job, data):
            deadline = clock.monotonic() + _UPLOAD
            while True:
                try:
                    await self._renew(held)
                    await self._server.store(subjects.PATCHES, subject, piece)
                    break
                except UnhangError as error:
                    given_up = held.fenced or self._stopping or clock.monotonic() > deadline
                    if given_up or isinstance(error, ServerRefused):
                        return {"why": f"the server has not taken the patch: {error}"}
                    await asyncio.sleep(_AWAY)
        return None

    async def _record(self, held: _Held, result: Result, patch: dict[str, Any]) -> None:
        """Say how it ended; nothing is stored if others have it."""
        held.over = True
        last, now = result.outcome, clock.now()
        why = str(last.get("message") or result.status)
        gone = result.status == "running"  # its record was removed
        lost = gone or last.get("phase") == "lost" or _is_let_go(result)
        phase, code = str(last.get("phase") or ""), result.shell_code

        def become(job: QueuedJob) -> QueuedJob:
            if lost:
                return job.lost(now, why, held.ran_as)
            return job.finished(held.ran_as, result.status, phase, code, now, why).replace(patch=patch)

        stored = await self._store(held, become)
        self._started.discard((held.job.id, held.job.attempt))
        if not stored and self._stopping and not self._server.connected:
            self._tell(f"job {held.job.id}: the server is away, and its end here is not recorded")
        elif not stored:
            self._tell(f"job {held.job.id} is another worker's by now: its end here is not recorded")

    # --- holding a job ----------------------------------------------------------------------------------------

    async def _keep(self, held: _Held) -> None:
        """Say again and again that the job lives, as long as its keeper does."""
        place = held.place
        assert place is not None
        while not held.fenced:
            if not await asyncio.to_thread(_lives, place):
                return
            try:
                if not await self._renew(held):
                    continue
            except ServerAway:
                await asyncio.sleep(_AWAY)
                continue
            self._tether.hold(place, held.renewed + ended_after(held.job.hold), grace_of(held.job.hold))
            await asyncio.sleep(renewed_every(held.job.hold))

    async def _renew(self, held: _Held) -> bool:
        """Say that a job is ours; False: say it again, unless it is fenced by now.

        The first word comes behind whatever the worker before has said.
        """
        subject, begun = subjects.hold_of(held.job.queue, held.job.id), clock.monotonic()
        word = {"attempt": held.job.attempt, "machine": self._offered.machine, "job": held.ran_as}
        stored = await self._server.store(subjects.HOLDS, subject, values.dump(word, compact=True).encode(), held.said)
        if stored is not None:
            held.said, held.renewed = stored, begun
            return True
        known = await queues.newest(self._server, held.job)
        if known is None or not known.is_of(self._offered.id, held.job.attempt):
            self._fence(held)
        else:
            last = await self._server.newest(subjects.HOLDS, subject)
            held.said = 0 if last is None else last.place
        return False

    def _fence(self, held: _Held) -> None:
        """Others have our job: end what runs here of it."""
        if not held.fenced:
            held.fenced = True
            self._tell(f"job {held.job.id} was taken from this worker: it is ended here")
            self._end(held, FENCED)

    # --- watching the others ----------------------------------------------------------------------------------

    async def _watch(self, server: Connection) -> None:
        """Find the jobs whose workers are gone."""
        looked = clock.monotonic()
        while not server.closed:
            others = [
                job
                for job in self._mirror.jobs.values()
                if job.state == RUNNING and job.id not in self._held and job.worker != self._offered.id
            ]
            every = min([_WATCH, *(renewed_every(job.hold) for job in others)])
            await asyncio.sleep(every)
            now = clock.monotonic()
            if now - looked > 3 * every + 1.0:
                self._silences.doubt()  # we did not run, and do not know whether the server was there
            looked = now
            if not others:
                continue
            try:
                await self._mirror.catch_up(server)
                said = await queues.holds(server, self._offered.queue)
                running = [job for job in self._mirror.jobs.values() if job.id not in self._held]
                places = {job: place for job, (place, _) in said.items()}
                silent, quiet = self._silences.look(running, places, clock.monotonic()), self._silences.quiet
                for job in silent:
                    why = f"its worker on {job.machine} has said nothing for {human(job.hold)}"
                    await self._give_up(server, job, said.get(job.id, (0, b"")), why)
                for job in quiet:
                    why = f"its worker on {job.machine} is gone, and it has ended there"
                    await self._give_up(server, job, said.get(job.id, (0, b"")), why, only_if_ended=True)
            except ServerAway:
                self._silences.doubt()

    async def _give_up(
        self, server: Connection, job: QueuedJob, said: tuple[int, bytes], why: str, *, only_if_ended: bool = False
    ) -> None:
        """A job has lost its worker: fence it, then say what has become of the job.

        `only_if_ended`: only if its machine has published an end of it.
        """
        place, word = said
        told = values.mapping(_parsed(word)) or {}
        ran_as = values.text(told.get("job")) or "" if told.get("attempt") == job.attempt else ""
        row = (await server.rows(job.machine)).get((job.machine, ran_as)) if ran_as else None
        ended = row is not None and row["status"] not in (RUNNING, UNKNOWN)
        if only_if_ended and not ended:
            return
        taken = values.dump({"attempt": job.attempt, "takenBy": self._offered.id}, compact=True).encode()
        if await server.store(subjects.HOLDS, subjects.hold_of(job.queue, job.id), taken, expected=place) is None:
            return  # it has said something meanwhile
        become = job.lost(clock.now(), why, ran_as)
        if row is not None and row["status"] in ("success", "error", "timeout") and row["phase"] != "lost":
            # its machine has published the end that its worker did not live to tell
            code, at = values.integer(row.get("exitCode")), str(row.get("endedAt") or clock.now())
            become = job.finished(ran_as, row["status"], row["phase"], code, at, str(row.get("why") or ""))
        changed = await queues.change(server, become)
        if changed is not None:
            self._mirror.know(changed)
            what = "waits again" if changed.state == QUEUED else f"ended: {changed.why}"
            self._tell(f"job {job.id}: {why}; it {what}")
            self._wake.set()


def _is_let_go(result: Result) -> bool:
    """Whether a job was ended because its worker stopped or could not hold it."""
    return result.outcome.get("cancelledBy") in (tether.LET_GO, STOPPED)


def _parsed(data: bytes) -> Any:
    try:
        return values.parse(data)
    except ValueError:
        return None


def _lives(place: JobDir) -> bool:
    """Is there a keeper of this job? Its claim on the log says so, and falls with it."""
    if reconcile.has_ended(place):
        return False
    if claim.SUPPORTED:
        return claim.is_claimed(place.events) or records.job(place) is None
    job = records.job(place)
    return job is None or reconcile.keeper_lives(job)


def memory_of_this_machine() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
