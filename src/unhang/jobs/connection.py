"""The connection between the process that started a job and the job's keeper.

The keeper writes `{"written": true}` when the record of a job is there that its caller brings to the disk itself,
`{"seq": n}` when there are new events to read and `{"ended": true}` when the end is recorded. It closes the connection
when nothing of the job is left. The caller writes the requests of the control socket. When the caller's end of a
foreground job closes, for whatever reason, the keeper ends the job.

A keeper may be stopped, starved or held up by a disk, so every wait for it has a bound: `patience` says how long to
wait, and `insist` acts when that time is over (it ends the job without its keeper: reconcile.end_without_keeper).

`JobConnection` has two drivers: `hear` and `wait_until_…` block; those that end in `_async` leave the event loop free.
A caller with a poll loop of its own waits for `fileno()` for at most `patience()`, then calls `insist` and `hear`.

The C module `_socket` and not `socket`: the latter costs 3 ms of start-up for names that are not used here.
"""

from __future__ import annotations

import os
from _socket import AF_UNIX, SOCK_STREAM, socket, socketpair

from unhang import plain_signal as signal
from unhang.core import json_text
from unhang.core.events import EXITED
from unhang.errors import UnhangError
from unhang.procs import clock, identity
from unhang.store import files
from unhang.store.reader import EVERYTHING, EventReader, last_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Awaitable, Callable
    from typing import Any, Protocol

    from unhang.core.events import Event
    from unhang.store.layout import JobDir

    class Handover(Protocol):
        """A job that was given to a spare, and may not have been taken."""

        def again(self) -> socket | None:
            """Give it to another one, if it was not taken; return the caller's new end."""

        def close(self) -> None:
            """Note that it was taken."""

    # Runs a blocking function in a thread, as asyncio.to_thread does.
    InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

# How long a keeper may take to answer a request to end its job.
PATIENCE = 5.0
# How long it may take to say that the job has started; a thousand jobs that are started at once take half of it.
START_PATIENCE = 60.0
# How long its first message is waited for before the record is looked at instead.
_START_CHECK = 2.0
# How often a guard that is our child is looked at: stopped (a job can do that), it would never let us go.
_GUARD_CHECK = 5.0


def pair() -> tuple[socket, socket]:
    """Make two connected sockets: the caller's and the keeper's."""
    return socketpair(AF_UNIX, SOCK_STREAM)


class JobConnection:
    """The caller's end of the connection to one job: its start, its events, its end."""

    def __init__(
        self,
        sock: socket,
        place: JobDir,
        *,
        start_patience: float = START_PATIENCE,
        guard: int | None = None,
        server: int | None = None,
        handover: Handover | None = None,
        told: bool = True,
    ) -> None:
        """`guard` and `server`: child processes of this one, if it forked the guard itself or has a fork server.

        `handover`: gives the job once more, if the spare that it was given to was killed before it took it. `told`: as
        it was launched, see `Launch`.
        """
        self.sock = sock
        self.told = told
        self._handover = handover
        self.place = place
        self.guard = guard
        self._server = server
        self.written = False  # the record of a job that is not `told` is there
        self.ended = False  # the end is recorded
        self.closed = False  # there is nothing more to hear: as a rule, nothing of the job is left
        self.gave_up = False  # the keeper did not answer, and the job was ended without it
        self.held = False  # a debugger holds the guard, and the keeper does nothing either: no limit ends the job
        self.failure = ""  # why nothing could be started at all
        self.seq = 0
        self.cancelled = False  # the end has been asked for
        self.shown: dict[str, Any] = {}  # how the caller's terminal looks, where output is relayed to one
        self.answered = self.refused = False  # what became of the last `offer`
        self.wanted: bool | None = None  # what the keeper said to the last `ask_for_keys`; None: nothing yet
        now = clock.monotonic()
        self._start_by = now + start_patience
        self._guard_seen = now
        self._guard_was_held = False
        self._asked_at: float | None = None  # when the end was asked for; None: not asked, or answered
        self._in = b""
        self._reader: EventReader | None = None
        self._told_end = False  # by `new_events`

    def fileno(self) -> int:
        """Return the descriptor to poll for."""
        return self.sock.fileno()

    @property
    def started(self) -> bool:
        """Return whether the keeper has recorded a first event: the job runs, or could not be started."""
        return self.seq > 0

    # --- requests -------------------------------------------------------------------------------------------

    def ask(self, **request: Any) -> None:
        """Send a request. Never blocks for long and never fails: a keeper that is gone has ended its job."""
        try:
            self.sock.sendall(json_text.encode(request, ascii_only=True).encode() + b"\n")
        except OSError:
            pass

    def offer(self, data: str, *, eof: bool) -> None:
        """Offer input to the job (base64). See `answered`: a keeper whose job does not read refuses it for now."""
        self.answered = self.refused = False
        self.ask(do="send", data=data, eof=eof, offered=True)

    def ask_for_keys(self) -> None:
        """Ask whether the job wants what was typed. See `wanted`: else it stays where it is, for another program."""
        self.wanted = None
        self.ask(do="wants")

    def cancel(self, by: str, *, force: bool = False, interrupt: bool = False) -> None:
        """Ask for the end of the job, with `interrupt` by SIGINT first; `patience` is limited until the answer."""
        self.cancelled = True
        self.ask(do="cancel", by=by, force=force, interrupt=interrupt)
        if self._asked_at is None:
            self._asked_at = clock.monotonic()

    # --- bounds ---------------------------------------------------------------------------------------------

    def patience(self) -> float | None:
        """Return how long to wait for a message at most, before `insist` is called; None: without a bound."""
        left = self._left()
        if left is not None and self._starting():
            left = min(left, _START_CHECK)
        if self.guard is None:
            return left
        return _GUARD_CHECK if left is None else min(left, _GUARD_CHECK)

    def _starting(self) -> bool:
        return self._asked_at is None and not self.started and not self.ended

    def _left(self) -> float | None:
        """The time left for what the keeper owes; None: it owes nothing."""
        if self._asked_at is not None:
            return max(0.0, self._asked_at + PATIENCE - clock.monotonic())
        return max(0.0, self._start_by - clock.monotonic()) if self._starting() else None

    def insist(self) -> None:
        """Wake our children if they are stopped; when the keeper's time is over, end the job without it.

        Afterwards the connection counts as closed.
        """
        if self.closed:
            return
        self._wake_children()
        if self._left() != 0.0:
            return
        from unhang.jobs import reconcile

        self.closed = self.gave_up = True
        reconcile.end_without_keeper(self.place)

    def _wake_children(self) -> None:
        if self._server is not None and self._starting():
            _wake(self._server)  # a fork server that is stopped makes no keeper; the job waits in its queue
        now = clock.monotonic()
        if self.guard is not None and now >= self._guard_seen + _GUARD_CHECK:
            self._guard_seen = now
            _wake(self.guard)
            self._look_at_guard(self.guard)

    def _look_at_guard(self, guard: int) -> None:
        """Find out whether a debugger has held the guard since the last look, and no keeper is at work either.

        Then no limit ends the job (`held`); and if its end is recorded, the guard only holds our line: it is given up.
        """
        before, self._guard_was_held = self._guard_was_held, _state(guard) == "t"
        self.held = False
        if not before or not self._guard_was_held:
            return
        from unhang.jobs import reconcile
        from unhang.store import records

        job = records.job(self.place) or {}
        keeper = reconcile.process_named(reconcile.keeper_of(job), "pid", "start")
        if keeper is not None and reconcile.keeper_lives(job) and _state(keeper.pid) not in "tT":
            return
        if self.ended:
            self.closed = self.gave_up = True
        else:
            self.held = True

    # --- the driver that blocks -----------------------------------------------------------------------------

    def hear(self, timeout: float | None = None) -> bool:
        """Read once, for at most `timeout` seconds. False: closed, the job is over and recorded."""
        if self.closed:
            return False
        if timeout != self.sock.gettimeout():
            self.sock.settimeout(timeout)
        try:
            chunk = self.sock.recv(1 << 16)
        except (InterruptedError, TimeoutError, BlockingIOError):
            return True
        except OSError:
            chunk = b""
        return self._heard(chunk)

    def wait_until_started(self) -> None:
        """Wait until the job runs, or the record says why not. Bounded: a job may stop its keeper before."""
        while not self.started and not self.ended:
            if not self.hear(_START_CHECK):
                self.settle()  # lost at birth: no process has the job, and none will start it
                return
            if self._starting() and _is_recorded(self.place):
                return
            self.insist()

    def wait_until_ended(self, heard: Callable[[], None] | None = None) -> None:
        """Wait until the end of the job is recorded. `heard` is called when there may be new events."""
        more = True
        while more and not self.ended:
            more = self.hear(self.patience())
            self.insist()
            if heard is not None:
                heard()

    def wait_until_closed(self) -> None:
        """Wait until nothing of the job is left."""
        while self.hear(self.patience()):
            self.insist()

    # --- the driver for an event loop -----------------------------------------------------------------------

    async def hear_async(self, timeout: float | None = None) -> bool:
        """Do what `hear` does, without blocking the event loop."""
        import asyncio

        if self.closed:
            return False
        loop, fd = asyncio.get_running_loop(), self.sock.fileno()
        over = loop.create_future()
        loop.add_reader(fd, _settle, over)
        alarm = None if timeout is None else loop.call_later(timeout, _settle, over)
        try:
            await over
        finally:
            loop.remove_reader(fd)
            if alarm is not None:
                alarm.cancel()
        return self.hear(0.0)

    async def wait_until_written_async(self) -> None:
        """Wait until the keeper says for the first time how far it is; see `written`. Bounded, as its start is."""
        if not self.written and not self.started and not self.ended:
            await self.hear_async(_START_CHECK)

    async def wait_until_started_async(self, in_thread: InThread) -> None:
        """Do what `wait_until_started` does, without blocking the event loop."""
        while not self.started and not self.ended:
            if not await self.hear_async(_START_CHECK):
                await in_thread(self.settle)
                return
            if self._starting():
                if await in_thread(lambda: _is_recorded(self.place)):
                    return
                await self.insist_async(in_thread)

    async def insist_async(self, in_thread: InThread) -> None:
        """Do what `insist` does; ending a job without its keeper takes time, and is left to a thread."""
        if self._left() == 0.0:
            await in_thread(self.insist)
        else:
            self._wake_children()

    async def wait_until_ended_async(self, in_thread: InThread, heard: Callable[[], None] | None = None) -> None:
        """Do what `wait_until_ended` does, without blocking the event loop."""
        more = True
        while more and not self.ended:
            more = await self.hear_async(self.patience())
            await self.insist_async(in_thread)
            if heard is not None:
                heard()

    # --- what was heard -------------------------------------------------------------------------------------

    def _heard(self, chunk: bytes) -> bool:
        if not chunk:
            self.closed = not self._is_given_again()
            return not self.closed
        self._has_arrived()
        *lines, self._in = (self._in + chunk).split(b"\n")
        for line in lines:
            message = json_text.decode(line)
            if "ok" in message:
                self._asked_at = None
            self.seq = max(self.seq, int(message.get("seq", 0)))
            self.written = self.written or bool(message.get("written"))
            self.ended = self.ended or bool(message.get("ended"))
            self.failure = self.failure or str(message.get("failed", ""))
            self.shown |= {name: message[name] for name in ("fresh", "screen", "restore", "lines") if name in message}
            if "wants" in message:
                self.wanted = bool(message["wants"])
            if message.get("offered"):
                self.answered, self.refused = True, bool(message.get("full"))
        return True

    def _is_given_again(self) -> bool:
        handover, self._handover = self._handover, None
        if handover is None:
            return False
        try:
            sock = handover.again()
        finally:
            handover.close()
        if sock is None:
            return False
        os.dup2(sock.fileno(), self.sock.fileno(), inheritable=False)  # who polls it need not know
        sock.close()
        return True

    def _has_arrived(self) -> None:
        if self._handover is not None:
            self._handover.close()
            self._handover = None

    def new_events(self) -> list[Event]:
        """Return the events that were recorded since the last call, the end when the keeper has said so or is gone.

        The end is the last line of the log: a job can write to that, too, also with numbers that hide what is behind.
        """
        if self._reader is None:
            try:
                self._reader = EventReader(self.place.events)
            except FileNotFoundError:
                return []
        if self.ended:
            self._reader.synced_to = EVERYTHING
        else:  # a keeper that is gone says nothing more: then the reader sees to it
            self._reader.synced_to = None if self.closed else self.seq
        found = [event for event in self._reader.read_new() if event["type"] != EXITED]
        if (self.ended or self.closed) and not self._told_end:
            last = last_event(self.place.events)
            if last is not None and last["type"] == EXITED and last["seq"] <= self._reader.seq:
                self._told_end = True
                found.append(last)
        return found

    # --- the end --------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Make the record true when the connection has ended. UnhangError: nothing could be started at all.

        Keeper and guard may both have been killed, or the fork server before it made them.
        """
        if self.failure:
            raise UnhangError(self.failure)
        from unhang.jobs import reconcile

        reconcile.settle(self.place, birth=0)

    def outcome(self) -> Event | None:
        """Return the last event of a job whose connection has ended; None: its record is gone."""
        self.settle()
        last = last_event(self.place.events)
        return last if last is not None and last["type"] == EXITED else None

    def wait_for_guard(self) -> None:
        """Wait until a guard of our own has exited: nothing of the job or of unhang is left then.

        One that is given up is killed. If it is being traced, it cannot be reaped before its tracer lets go of it.
        """
        if self.guard is None:
            return
        try:
            if self.gave_up:  # the guard may be stopped, too
                from unhang.jobs import reconcile

                os.kill(self.guard, signal.SIGKILL)
                reconcile.wait_until_dead(self.guard)
            os.waitpid(self.guard, os.WNOHANG if self.gave_up else 0)
        except (ChildProcessError, ProcessLookupError):
            pass

    def close(self) -> None:
        """Close our end. The keeper of a foreground job then ends it."""
        self.closed = True
        self._has_arrived()
        self.sock.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _settle(over: Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def _is_recorded(place: JobDir) -> bool:
    """By a keeper that recorded the start and reported nothing. What we are about to tell must survive a power cut."""
    if last_event(place.events) is None:
        return False
    make_durable(place)
    return True


def make_durable(place: JobDir) -> None:
    """Make the record of a job and its events so far survive a power cut once this returns."""
    for path in (place.job, place.events, place.path, f"{place.path}/..", place.home):
        files.sync_path(path)


def _state(pid: int) -> str:
    """Return the state of a process as /proc shows it, "t": a debugger holds it; "X" for one that is gone."""
    found = identity.find(pid)
    return "X" if found is None else found.state


def _wake(child: int) -> None:
    """Continue a child of ours that is stopped. It was not waited for, so its pid is still its own."""
    found = identity.find(child)
    if found is not None and found.ppid == os.getpid() and found.state == "T":
        os.kill(child, signal.SIGCONT)
