"""The guard: an idle process above the keeper, for what the keeper cannot handle: its own death, and its own hang.

It is a subreaper too. If the keeper is killed, what the keeper owned becomes the guard's: it ends all of it and records
the loss at once. If the keeper does not run when a limit is due (deadline_board.py), the guard waits a little, freezes
the keeper so that not both act, ends the job by the same steps, and says that it did. The same on SIGUSR1: a caller
asked for the end and the keeper did not answer. While all is well it sleeps in one system call.

It signals first and touches the disk last: a state directory that hangs must not keep a limit from being enforced.
"""

from __future__ import annotations

import os
import time

from unhang import plain_signal as signal
from unhang.core import events as ev
from unhang.core import outcome
from unhang.core.limits import TIMEOUT_REASON, Limits
from unhang.core.limits import named as named_limit
from unhang.core.record import Record
from unhang.core.watchdog import actions as act
from unhang.core.watchdog.clocks import NEVER
from unhang.errors import StateError
from unhang.keeper.prefork import spare
from unhang.keeper.prefork.deadline_board import FINISH, START, DeadlineBoard, Promise
from unhang.keeper.prefork.unread_output import UnreadOutput
from unhang.keeper.stopper import Step, exit_of, named
from unhang.procs import clock, identity
from unhang.procs.base import signal_members
from unhang.procs.tree import descendants, make_tree, signal_one
from unhang.store.layout import JobDir
from unhang.store.recovery import record_end, record_loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any

    from unhang.procs.base import ProcessInfo, Tree

# between rounds of SIGKILL while something does not die (another user's process, the kernel holds it)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 1.0
# How late a keeper may be before its guard acts. A keeper that is waiting for a core may be later.
PATIENCE = 3.0
_STARVED = 4 * PATIENCE
# Having slept this much longer than planned, the guard did not run either (a suspended or frozen machine).
_OVERSLEPT = 1.0
# How long the end may have to wait for another process that holds the log.
_FOR_THE_LOG = 60.0
# SIGCHLD: the keeper has ended · SIGUSR1: end the job without it · SIGUSR2: look at its promise again
ASKED = signal.SIGUSR1
SIGNALS = frozenset({signal.SIGCHLD, ASKED, signal.SIGUSR2})


class GuardedJob(Record):
    """The job, as the keeper told it before it began; and the caller's line, which stays open as long as we live."""

    place: JobDir
    limits: Limits
    retry: int
    owner: list[int]


class Hang(Record):
    """The keeper did not do what it had promised (or did not answer: `asked`), and in what state it was found."""

    promise: Promise
    state: str
    asked: bool


def guard(line: socket, tree: Tree, keeper: int, board: DeadlineBoard) -> None:
    """Guard the job; return when it is over and nothing of it is left. `SIGNALS` are blocked already."""
    job = _wait_for_a_job(line)
    if job is None:
        os.waitpid(keeper, 0)
        end_all(tree)
        return
    found = _Watch(keeper, board, job.limits).wait()
    if isinstance(found, Hang):
        _Enforcement(job, tree, keeper, found).run()
        return
    ended = end_all(tree)
    if found != 0:
        how = _how_it_died(found)
        _insist(lambda: record_loss(job.place, ended, how=how, stamp=clock.now, patience=_FOR_THE_LOG))


def _wait_for_a_job(line: socket) -> GuardedJob | None:
    """None: the keeper was let go without one (or died before it had one)."""
    received = spare.receive(line)
    if received is None:
        return None
    said, owner = received
    return GuardedJob(JobDir(said["home"], said["id"]), Limits(**said["limits"]), said["retry"], owner)


def _how_it_died(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"its keeper was ended by {signal.name_of(-code)}" if code < 0 else f"its keeper failed ({code})"


def _insist(record: Callable[[], bool]) -> None:
    """A log that another process holds is left to the next process that looks at the job."""
    try:
        record()
    except (StateError, OSError):
        pass


class _Watch:
    """Waits for the keeper's end, or for the moment at which it should have acted and has not."""

    def __init__(self, keeper: int, board: DeadlineBoard, limits: Limits) -> None:
        self._keeper = keeper
        self._board = board
        self._limits = limits
        self._not_before = 0.0  # a keeper that has reason to be late is given until then
        self._printed = 0  # bytes that it had not read when it was last looked at

    def wait(self) -> int | Hang:
        while True:
            pid, status = os.waitpid(self._keeper, os.WNOHANG)
            if pid:
                return status
            promise = self._board.read()
            now = clock.monotonic()
            due = max(promise.due + PATIENCE, self._not_before)
            if now >= due and (hang := self._judge(promise, now)) is not None:
                return hang
            heard = self._sleep(max(0.0, due - now))
            if heard == ASKED:
                return Hang(self._board.read(), self._state(), asked=True)

    def _sleep(self, seconds: float) -> int | None:
        if seconds == NEVER:
            return signal.sigwaitinfo(SIGNALS).si_signo
        planned = clock.monotonic() + seconds
        heard = signal.sigtimedwait(SIGNALS, seconds)
        if clock.monotonic() > planned + _OVERSLEPT:
            self._not_before = clock.monotonic() + PATIENCE
        return None if heard is None else heard.si_signo

    def _state(self) -> str:
        found = identity.find(self._keeper) if identity.sees_own_namespace() else None
        return found.state if found is not None else "?"

    def _judge(self, promise: Promise, now: float) -> Hang | None:
        """None: it may be late; `_not_before` says how late."""
        state = self._state()
        if state == "R" and now < promise.due + _STARVED:  # it runs, or waits for a core as we did
            self._not_before = now + PATIENCE
            return None
        if promise.reason == act.IDLE:
            # a job that speaks or works is ended by its hard limit only; that one is then the keeper's promise, too
            hard = NEVER if promise.hard is None else promise.started + promise.hard + PATIENCE
            if now >= hard:
                promise = promise.replace(reason=act.HARD)
            elif self._speaks(promise) or (self._limits.liveness == "progress" and self._moves()):
                self._not_before = min(hard, now + max(PATIENCE, promise.idle or 0.0))
                return None
        if self._board.read().due > promise.due:
            return None
        return Hang(promise, state, asked=False)

    def _speaks(self, promise: Promise) -> bool:
        """Whether the job has printed more that its keeper has not read, or cannot print more because its
        pipe is full. Either way the silence is the keeper's."""
        unread = UnreadOutput(self._keeper, promise.pipes)
        before = self._printed
        self._printed, full = unread.count()
        unread.close()
        return full or self._printed > before

    def _moves(self) -> bool:
        """Does the job work, though its keeper cannot see it? Then only its hard limit ends it."""
        from unhang.core.diagnosis.progress import progressed
        from unhang.procs.sampler.cheap import cheap

        try:
            before = cheap(self._keeper)
            time.sleep(_OVERSLEPT)
            return progressed(before, cheap(self._keeper))[0]
        except Exception:  # looking must not keep the limit from being enforced
            return False


class _Enforcement:
    """Ends the job in the place of a keeper that does not act, and writes down what was done."""

    def __init__(self, job: GuardedJob, tree: Tree, keeper: int, hang: Hang) -> None:
        self._job = job
        self._tree = tree
        self._keeper = keeper
        self._hang = hang
        self._events: list[ev.Event] = []
        self._mode: str | None = None
        self._over_at = 0.0  # what follows may have to wait for a disk
        self._exited = False
        self._leftovers: list[dict[str, Any]] = []
        self._exits: dict[int, int] = {}

    def run(self) -> None:
        self._signal(signal.SIGSTOP)  # if it goes on now, two of us would end the job
        unread = UnreadOutput(self._keeper, self._hang.promise.pipes)
        begun = self._hang.promise.ending
        self._mode = outcome.SOFT if begun else None
        self._exited = not begun and self._has_exited()
        if self._exited:
            self._leftovers = named(descendants(self._keeper))
        elif not begun:
            self._note_timeout()
        if not begun and not self._hang.asked:
            self._terminate()
        killed = self._kill_below()
        self._over_at = clock.monotonic()
        self._signal(signal.SIGKILL)
        os.waitpid(self._keeper, 0)  # one that the kernel holds dies when that lets it go: nothing else is left by now
        promise = self._hang.promise
        if promise.leader is not None and promise.status is None:
            self._tree.spawned(promise.leader)
        killed = list(dict.fromkeys([*killed, *end_all(self._tree, self._exits)]))
        if killed:
            self._mode = outcome.HARD
            self._note_step("kill", "SIGKILL", killed)
        self._note_retry()
        rest = unread.take()
        place, compose = self._job.place, self._compose
        _insist(lambda: record_end(place, compose, stamp=clock.now, rest=rest, patience=_FOR_THE_LOG))

    def _has_exited(self) -> bool:
        """The leader, by itself, before anything was done to it: a late notice of that is no timeout."""
        promise = self._hang.promise
        if promise.status is not None:
            return True
        found = None if promise.leader is None or not identity.sees_own_namespace() else identity.find(promise.leader)
        return found is not None and found.ppid == self._keeper and found.is_dead

    def _note_retry(self) -> None:
        if self._job.retry and not self._exited and not self._hang.asked:
            self._events.append(ev.watchdog("retry", "Not tried again: its keeper did not run."))

    def _kill_below(self) -> list[int]:
        """What lives below the frozen keeper, which cannot reap it, until a walk finds no more (or too long)."""
        pids: dict[int, None] = {}
        deadline = clock.monotonic() + self._job.limits.kill_wait
        while (found := descendants(self._keeper)) and clock.monotonic() < deadline:
            pids.update(dict.fromkeys(process.pid for process in _signalled(found, (signal.SIGKILL,))))
            time.sleep(_FIRST_PAUSE)
        return list(pids)

    def _signal(self, number: int) -> None:
        try:
            os.kill(self._keeper, number)  # our child, and not waited for yet: the pid is its own
        except OSError:
            pass

    def _note_timeout(self) -> None:
        promise = self._hang.promise
        if self._hang.asked or promise.reason not in TIMEOUT_REASON:
            return
        limit = named_limit(promise.reason, promise.budget)
        text = f"The {limit} limit has passed and its keeper does not act ({self._why()}): its guard ends it."
        stood = {"budget": ev.budget(promise.budget, promise.idle)} if limit != promise.reason else {}
        self._events.append(ev.watchdog("timeout", text, reason=TIMEOUT_REASON[promise.reason], **stood))

    def _why(self) -> str:
        states = {"T": "it is stopped", "t": "it is being traced", "D": "the kernel holds it", "R": "it gets no core"}
        return states.get(self._hang.state, "it is blocked")

    def _terminate(self) -> None:
        reached = _signalled(descendants(self._keeper), (signal.SIGTERM, signal.SIGCONT))
        if reached:
            self._mode = outcome.SOFT
            self._note_step("terminate", "SIGTERM", [process.pid for process in reached])
        deadline = clock.monotonic() + self._job.limits.grace
        while descendants(self._keeper) and clock.monotonic() < deadline:
            time.sleep(_FIRST_PAUSE * 20)  # a dead child shows only in a walk: it is the frozen keeper's to reap

    def _note_step(self, step: str, name: str, pids: list[int]) -> None:
        reason = act.CANCELLED if self._hang.asked else self._hang.promise.reason
        text = f"{Step(step, name, pids, []).text()}, by the guard"
        self._events.append(ev.signal(step, name, pids, reason, text))

    def _compose(self, _events: list[ev.Event]) -> list[ev.Event]:
        end = self._end()
        did = "recorded that" if self._exited else "ended it"
        by = f"its keeper did not {'answer' if self._hang.asked else 'act'} ({self._why()}), so its guard {did}"
        message = f"{end.message}; {by}"
        fields = end.fields | {"endedBy": "guard"}
        if isinstance(fields.get("error"), dict):
            fields["error"] = fields["error"] | {"message": message}
        return [*self._events, ev.exited(end.phase, message, fields)]

    def _end(self) -> outcome.Ended:
        promise, now = self._hang.promise, self._over_at
        if promise.reason in (START, FINISH, ""):
            what = "recorded its start" if promise.reason == START else "recorded its end"
            lost = f"lost: its keeper had not {what}"
            return outcome.lost(lost, None, promise.leader, [], [])
        ending = promise.reason
        if self._exited:
            ending = act.LEAK if self._leftovers else act.EXITED
        elif self._hang.asked and ending != act.LEAK:
            ending = act.CANCELLED
        status = promise.status if promise.status is not None else self._exits.get(promise.leader or 0)
        exit_code, ended_by = exit_of(status)
        return outcome.ended(
            outcome.Facts(
                ending=act.EXITED if ending == act.LEAK else ending,
                exit_code=exit_code,
                signal=ended_by,
                leaked=ending == act.LEAK,
                abandoned=False,
                mode=self._mode,
                duration=now - promise.started,
                silence=max(0.0, now - promise.life),
                longest_silence=max(0.0, now - promise.life),
                pid=promise.leader or 0,
                cancelled_by=promise.by or "request",
                idle_limit=promise.idle,
                hard_limit=promise.hard,
                budget=promise.budget,
                leftovers=self._leftovers,
                survivors=[],
            )
        )


def _signalled(processes: list[ProcessInfo], signals: tuple[int, ...]) -> list[ProcessInfo]:
    """Those that were reached. Another user's are passed over, and those that no descriptor is left to reach by:
    once the keeper is gone they are our own children."""
    return signal_members(processes, lambda process: signal_one(process, signals, direct=False)).reached


def end_all(tree: Tree, exits: dict[int, int] | None = None) -> list[int]:
    """Send SIGKILL until the kernel says that nothing is left; return who was ended. `exits` gets how each went."""
    pids: dict[int, None] = {}
    pause = _FIRST_PAUSE
    while True:
        reaped = tree.reap()
        if exits is not None:
            exits.update(reaped.exits)
        if reaped.empty:
            return list(pids)
        done = tree.signal((signal.SIGKILL,))
        pids.update(dict.fromkeys(p.pid for p in done.reached))
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def make_guarded_tree() -> Tree:
    """Return a tree that has adopted what will be orphaned below this process."""
    tree = make_tree()
    tree.adopt()
    return tree
