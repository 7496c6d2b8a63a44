"""The watchdog: every decision about the life and death of a job is made in this file.

It knows no clock, process or file. It is *told* facts (`tell`) and the time (`wake`), answers with actions, and
says when it next wants to be woken (`deadline`). So its promise can be checked over virtual years in milliseconds:

* nothing is ended before its deadline, or without its warning (unless the lead is 0);
* from any state a bounded number of wakes reaches the one and only end;
* phases only move forward:  running → closing → interrupting → stopping → killing → ended  (each may be skipped);
* after `wake(now)` the deadline is None or later than `now` (unless a `Look` is asked for: look, tell, wake again);
* an illegal call raises `IllegalCall` and changes nothing.

Theory of operation. `tell` only writes down what happened, `wake` judges: the keeper tells all it knows first.

running   Three clocks (clocks.py): *stall* (a notice) and *idle* (an end) count from the last sign of life, *hard*
          from the start. Before any of them fires a `Look` is asked for, so that a busy tree is `Quiet` and not
          `Stuck`. Under liveness "progress" a look that saw movement is a sign of life. Under "agent" the driver says
          what moves and announces a stall itself; a look counts only while a tool is in flight.
closing   The leader has exited. What it printed last is still read; what it left behind gets `leak_wait` seconds
          without a byte, then is ended too (and the job is *leaked*). With `keep` a left-over tree is still the
          job, watched as before, until the last of it ends.
interrupting  SIGINT was sent, as Ctrl-C does; `grace` runs.
stopping  SIGTERM was sent; `grace` runs, unless all that is left ignores the signal. Output is kept but counts for
          nothing.
killing   SIGKILL was sent; `kill_wait` runs, then the end is announced with its survivors.

Silence while our own reader blocks us (`Held`) or while the keeper did not run (`Paused`) is not the job's silence: the
stall and idle clocks stand still. The hard clock is a promise about wall-clock time; it only stands still while the
person at the job's terminal keeps the job waiting (`Away`).
"""

from __future__ import annotations

from unhang.core.limits import DEFAULT_GRACE, HASTY_GRACE, Limits
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog.clocks import NEVER, Clocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.watchdog.actions import Action
    from unhang.core.watchdog.facts import Fact

RUNNING = "running"
CLOSING = "closing"
INTERRUPTING = "interrupting"
STOPPING = "stopping"
KILLING = "killing"
ENDED = "ended"
# What an agent leaves running when it has ended itself gets this long after SIGTERM.
STRAY_GRACE = 1.0
PHASES = (RUNNING, CLOSING, INTERRUPTING, STOPPING, KILLING, ENDED)


class IllegalCall(Exception):
    """A fact that cannot be, or a call after the end: a bug of the caller. Nothing was changed."""


class Watchdog:
    """The state of one job's life, from its start to the moment when all of it is gone."""

    def __init__(self, limits: Limits, now: float, *, keep: bool = False) -> None:
        self.clocks = Clocks(limits, now)
        self.keep = keep
        self.phase = RUNNING
        self.reason: str | None = None  # why the tree is being ended; fixed once set
        self._now = now
        self._leader_gone = self._tree_gone = self._pipes_closed = self._leaked = False
        self._stop: fact.StopRequested | None = None
        self._looking = False
        self._driven = limits.liveness == "agent"
        self._unsaid: list[Action] = []  # notices that follow from a fact; the next wake says them
        self._closing_since = self._last_byte = now
        self._due = NEVER  # of a grace or the kill-wait

    @property
    def limits(self) -> Limits:
        """Return the limits that hold now, with the extensions so far."""
        return self.clocks.limits

    def silence(self, now: float) -> float:
        """Return seconds since the last sign of life, as the idle clock counts them."""
        return self.clocks.silence(now)

    # --- facts in -------------------------------------------------------------------------------------------

    def tell(self, what: Fact, now: float) -> None:
        """Take note of a fact. What follows from it is returned by the next `wake`."""
        self._refuse_illegal(what, now)
        self._now = now
        running = self.phase == RUNNING
        match what:
            case fact.AgentMoved():
                if running:
                    self._unsaid += self.clocks.spoken(now)
            case fact.Window(idle, purpose):
                if running:
                    self.clocks.set_window(idle, purpose)
            case fact.AgentStuck():
                if running:
                    self.clocks.announced_by_agent()
            case fact.Output():
                self._last_byte = now
                if running and self.limits.liveness != "agent":
                    self._unsaid += self.clocks.spoken(now)
            case fact.Typed():
                if running:
                    self._unsaid += self.clocks.spoken(now, asked=True)
            case fact.Heartbeat(extend):
                if running and self.limits.liveness != "output":
                    self._unsaid += self.clocks.spoken(now, extend)
            case fact.Looked(alive, reason, still, explains):
                self._looking = False
                self._unsaid += self.clocks.looked_at(alive, reason, now, still=still, explains=explains)
            case fact.LeaderExited():
                self._leader_gone = True
                self._closing_since = self._last_byte = now
                if self.phase == INTERRUPTING:  # that was enough for it: what it left is not interested in SIGINT
                    self._due = min(self._due, now + self.limits.leak_wait)
            case fact.TreeGone():
                self._tree_gone = True
            case fact.PipesClosed():
                self._pipes_closed = True
            case fact.StopRequested(force, interrupt):
                if self._stop is None or force or (self._stop.interrupt and not interrupt):
                    self._stop = what
            case fact.TermIgnored():
                if self.phase == STOPPING and not self._long_grace:
                    self._due = min(self._due, now)
            case fact.Extend(idle, hard):
                self._unsaid += self.clocks.extend(idle, hard, now)
            case fact.Paused(seconds):
                self.clocks.pause(seconds, now)
                self._last_byte = min(now, self._last_byte + seconds)
            case fact.Held(blocked):
                held_for = 0.0 if self.clocks.held_since is None else now - self.clocks.held_since
                self.clocks.hold(blocked, now)
                self._closing_since += min(held_for, now - self._closing_since)
                self._last_byte = now
            case fact.Away(tiers):
                self.clocks.stand_still(frozenset(tiers), now)
            case fact.HungVerdict():
                self.clocks.judged(running)

    def _refuse_illegal(self, what: Fact, now: float) -> None:
        """Every illegal fact is refused here, before anything is written down."""
        problem = ""
        if self.phase == ENDED:
            problem = "nothing can happen after the end"
        elif now < self._now:
            problem = f"time went backwards, from {self._now} to {now}"
        else:
            match what:
                case fact.Heartbeat(extend) if not extend >= 0:
                    problem = "a heartbeat cannot take time away"
                case fact.Window(idle, _) if idle is not None and not idle > 0:
                    problem = "a window has a length"
                case fact.Looked() if not self._looking:
                    problem = "no look was asked for"
                case fact.LeaderExited() if self._leader_gone:
                    problem = "the leader can exit only once"
                case fact.TreeGone() if not self._leader_gone:
                    problem = "the tree cannot be gone while its leader lives"
                case fact.Extend(idle, hard) if not (idle >= 0 and hard >= 0):
                    problem = "an extension cannot take time away"
                case fact.Extend() if self.phase != RUNNING:
                    problem = f"a job that is {self.phase} cannot be extended"
                case fact.Paused(seconds) if not seconds >= 0:
                    problem = "a pause cannot be negative"
                case fact.Held(blocked) if blocked == (self.clocks.held_since is not None):
                    problem = "the reader is blocked already" if blocked else "the reader was not blocked"
        if problem:
            raise IllegalCall(f"{what!r}: {problem}")

    # --- the clock ------------------------------------------------------------------------------------------

    def wake(self, now: float) -> list[Action]:
        """Judge. If a `Look` is among the actions: do it, tell `Looked`, and wake again."""
        if self.phase == ENDED or now < self._now:
            raise IllegalCall("woken after the end" if self.phase == ENDED else "time went backwards")
        self._now = now
        actions = self.notices()
        # One wake may pass through several phases (grace 0: stop, then kill); each step moves forward.
        while self.phase != ENDED and self._step(now, actions):
            pass
        return actions

    def notices(self) -> list[Action]:
        """Return what the facts so far have to say, without judging; the next `wake` does not say it again."""
        unsaid, self._unsaid = self._unsaid, []
        return unsaid

    def deadline(self) -> float | None:
        """Return when to wake next, at the latest; None: only a fact can change anything."""
        if self.phase == RUNNING:
            due = self.clocks.next_due()
        elif self.phase == CLOSING:
            due = self._leak_due()
        else:
            due = self._due
        return None if due == NEVER else due

    def limit_due(self) -> tuple[float, str]:
        """Return when the next step towards an end is due, at the latest, and for which reason; looks and notices
        apart.

        For the keeper's guard: a keeper that has not acted by then does not run. NEVER: there is no such time.
        """
        if self.phase == RUNNING:
            return self.clocks.limit_due()
        if self.phase == CLOSING:
            held = self.clocks.held_since is not None
            return NEVER if held else self._closing_since + self.limits.leak_max, act.LEAK
        return self._due, self.reason or act.CANCELLED

    def wake_at(self) -> float | None:
        """Return the same, put off a little where that does no harm and saves work (clocks.py)."""
        if self.phase != RUNNING:
            return self.deadline()
        at = self.clocks.wake_at()
        return None if at == NEVER else at

    def _step(self, now: float, actions: list[Action]) -> bool:
        """One transition forward, or none (False)."""
        if self.phase in (INTERRUPTING, STOPPING, KILLING) and self._tree_gone:
            return self._settle(actions)
        if self._stop is not None and self._obey_stop(self._stop, now, actions):
            return True
        if self.phase == RUNNING:
            if self._leader_gone and (self._tree_gone or not self.keep):
                self.phase = CLOSING
                return True
            return self._judge_running(now, actions)
        if self.phase == CLOSING:
            return self._judge_closing(now, actions)
        if self.phase == STOPPING and self._leader_gone and self._driven:
            return self._sweep(now, actions)
        if now < self._due:
            return False
        if self.phase == INTERRUPTING:
            return self._terminate(now, actions)
        return self._kill(now, actions) if self.phase == STOPPING else self._settle(actions, abandoned=True)

    def _obey_stop(self, stop: fact.StopRequested, now: float, actions: list[Action]) -> bool:
        if self.phase == KILLING or (self.phase == STOPPING and not stop.force):
            return False
        if self.phase == INTERRUPTING and stop.interrupt and not stop.force:
            return False
        if self.phase in (RUNNING, CLOSING):
            # a leader that has ended by itself keeps its own ending: only its left-overs are stopped
            own_ending = self.phase == CLOSING or (self._leader_gone and not self.keep)
            if own_ending and self._tree_gone:
                return False
            self._leaked = own_ending
            self.reason = act.LEAK if own_ending else act.CANCELLED
        if stop.force:
            return self._kill(now, actions)
        gently = stop.interrupt and self.phase == RUNNING and self.reason == act.CANCELLED
        return self._interrupt(now, actions) if gently else self._terminate(now, actions)

    def _judge_running(self, now: float, actions: list[Action]) -> bool:
        if self._looking:
            # woken without an answer: a keeper that cannot look must still be able to end the job
            self._looking = False
            self.clocks.looked_at(False, "", now)
        elif now >= self.clocks.look_due():
            self._looking = True
            full = self.limits.on_hung == "end" or now >= self.clocks.full_look_due()
            self.clocks.full_asked = full
            actions.append(act.Look(full))
            return False
        actions += self.clocks.notices(now)
        reached = self.clocks.expired(now)
        if reached is None:
            # a warning that was given late has moved its limit, and the look before that limit may be due already
            return now >= self.clocks.look_due()
        self.reason = reached.tier
        actions.append(reached)
        return self._terminate(now, actions)

    def _leak_due(self) -> float:
        if self.clocks.held_since is not None:
            return NEVER  # what is left over may only be waiting for our own reader
        limits = self.limits
        return min(self._last_byte + limits.leak_wait, self._closing_since + limits.leak_max)

    def _judge_closing(self, now: float, actions: list[Action]) -> bool:
        if self._tree_gone and self._pipes_closed:
            return self._settle(actions)
        if now < self._leak_due():
            return False
        self._leaked = True
        if self._tree_gone:  # a process outside the tree holds the pipe: nothing of the job is left to end
            return self._settle(actions)
        self.reason = act.LEAK
        return self._terminate(now, actions)

    def _interrupt(self, now: float, actions: list[Action]) -> bool:
        assert self.reason is not None
        self.phase = INTERRUPTING
        self._due = now + self.limits.grace
        actions.append(act.Interrupt(self.reason))
        return True

    def _terminate(self, now: float, actions: list[Action]) -> bool:
        assert self.reason is not None
        self.phase = STOPPING
        self._driven = self._driven and not self._leader_gone
        self._due = now + self._grace()
        actions.append(act.Terminate(self.reason))
        return True

    def _grace(self) -> float:
        """How long after SIGTERM the tree may take."""
        grace = self.limits.grace
        hasty = self._stop is not None and self._stop.hasty and not self._long_grace
        return min(grace, HASTY_GRACE) if hasty else grace

    @property
    def _long_grace(self) -> bool:
        """Whether a caller or the policy has asked for more than the usual grace: that is never shortened."""
        return self.limits.grace > DEFAULT_GRACE

    def _sweep(self, now: float, actions: list[Action]) -> bool:
        """A driver had the first SIGTERM alone, and has taken its steps: what they left has no more to wait for."""
        assert self.reason is not None
        self._driven = False
        self._due = min(self._due, now + STRAY_GRACE)
        actions.append(act.Terminate(self.reason))
        return True

    def _kill(self, now: float, actions: list[Action]) -> bool:
        assert self.reason is not None
        self.phase = KILLING
        self._due = now + self.limits.kill_wait
        actions.append(act.Kill(self.reason))
        return True

    def _settle(self, actions: list[Action], *, abandoned: bool = False) -> bool:
        self.phase = ENDED
        self._due = NEVER
        ending = act.EXITED if self.reason is None or self.reason == act.LEAK else self.reason
        actions.append(act.Settle(ending, self._leaked, abandoned))
        return True
