"""The watchdog as a state machine under arbitrary histories: the promises at the top of watchdog.py, each checked.

The world here is a model: a tree that dies of TERM, of KILL or never, a reader that blocks, looks that see movement
or not, and a keeper that wakes late. Virtual time only.
"""

from __future__ import annotations

import copy

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from unhang.core.limits import Limits, lead
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import facts as fact
from unhang.core.watchdog.actions import Action
from unhang.core.watchdog.clocks import NEVER, PATIENT, SETTLE, Clocks
from unhang.core.watchdog.machine import ENDED, PHASES, RUNNING, IllegalCall, Watchdog

# Nothing here waits: what takes long is a machine that is shared by many.
pytestmark = pytest.mark.timeout(400)

seconds = st.floats(min_value=0.01, max_value=5000, allow_nan=False)
limit = st.none() | seconds
limits_strategy = st.builds(
    Limits,
    stall=limit,
    idle=limit,
    hard=limit,
    warn=st.just(0.0) | seconds,
    grace=st.just(0.0) | seconds,
    kill_wait=seconds,
    leak_wait=seconds,
    leak_max=seconds,
    liveness=st.sampled_from(["progress", "output", "heartbeat"]),
)


class Timeline(RuleBasedStateMachine):
    @initialize(limits=limits_strategy, keep=st.booleans(), dies_of=st.sampled_from(["int", "term", "kill", "never"]))
    def begin(self, limits: Limits, keep: bool, dies_of: str) -> None:
        self.now = 1000.0
        self.asked = limits
        self.dog = Watchdog(limits, self.now, keep=keep)
        self.dies_of = dies_of
        self.actions: list[Action] = []
        self.phase_seen = RUNNING
        self.reason_seen: str | None = None
        self.life = self.spoke = self.now
        self.blocked = False
        self.away: tuple[str, ...] = ()
        self.away_since = self.now
        self.stood = 0.0  # how long the hard limit stood still
        self.leader_gone = self.tree_gone = self.pipes_closed = False
        self.extended_idle = self.extended_hard = 0.0
        self.forced = False
        self.warned_at: dict[str, float] = {}
        self.moves = self.still = False
        self.explains = True
        self.quiesced = True

    # -- what the world does ---------------------------------------------------------------------------------

    def running(self) -> bool:
        return self.dog.phase != ENDED

    def tell(self, what: fact.Fact) -> None:
        self.dog.tell(what, self.now)
        self.quiesced = False

    @precondition(lambda self: self.running())
    @rule()
    def prints(self) -> None:
        if not self.pipes_closed:
            self.tell(fact.Output())
            self.life = self.spoke = self.now
            self.warned_at.pop(act.IDLE, None)

    @precondition(lambda self: self.running())
    @rule(extend=st.just(0.0) | seconds)
    def beats(self, extend: float) -> None:
        self.tell(fact.Heartbeat(extend))
        if self.asked.liveness != "output":
            self.life = self.spoke = self.now
            self.warned_at.pop(act.IDLE, None)

    @rule(moves=st.booleans(), still=st.booleans(), explains=st.booleans())
    def changes_pace(self, moves: bool, still: bool, explains: bool) -> None:
        self.moves, self.still, self.explains = moves, still, explains

    @precondition(lambda self: self.running() and not self.leader_gone)
    @rule(tree_too=st.booleans(), pipes_too=st.booleans())
    def leader_exits(self, tree_too: bool, pipes_too: bool) -> None:
        self.tell(fact.LeaderExited())
        self.leader_gone = True
        if tree_too:
            self.tell(fact.TreeGone())
            self.tree_gone = True
        if pipes_too and not self.pipes_closed:
            self.tell(fact.PipesClosed())
            self.pipes_closed = True

    @precondition(lambda self: self.running() and self.leader_gone and not self.tree_gone)
    @rule()
    def the_rest_exits(self) -> None:
        self.tell(fact.TreeGone())
        self.tree_gone = True

    @precondition(lambda self: self.running() and not self.pipes_closed)
    @rule()
    def pipes_close(self) -> None:
        self.tell(fact.PipesClosed())
        self.pipes_closed = True

    @precondition(lambda self: self.running())
    @rule()
    def the_person_types(self) -> None:
        self.tell(fact.Typed())
        self.life = self.spoke = self.now
        self.warned_at.pop(act.IDLE, None)

    @precondition(lambda self: self.running())
    @rule(tiers=st.sampled_from([(), (act.IDLE,), (act.HARD,), (act.IDLE, act.HARD)]))
    def the_person_is_waited_for(self, tiers: tuple[str, ...]) -> None:
        self.tell(fact.Away(tiers))
        self.stood += self.now - self.away_since if act.HARD in self.away else 0.0
        self.away, self.away_since = tiers, self.now

    @precondition(lambda self: self.running())
    @rule()
    def the_rest_ignores_sigterm(self) -> None:
        self.tell(fact.TermIgnored())

    @precondition(lambda self: self.running())
    @rule(force=st.booleans(), interrupt=st.booleans(), hasty=st.booleans())
    def somebody_cancels(self, force: bool, interrupt: bool, hasty: bool) -> None:
        self.tell(fact.StopRequested(force, interrupt, hasty))
        self.forced = self.forced or force

    @precondition(lambda self: self.running() and self.dog.phase == RUNNING)
    @rule(idle=st.just(0.0) | seconds, hard=st.just(0.0) | seconds)
    def somebody_extends(self, idle: float, hard: float) -> None:
        self.tell(fact.Extend(idle, hard))
        self.extended_idle += idle
        self.extended_hard += hard
        if idle:
            self.warned_at.pop(act.IDLE, None)
        if hard:
            self.warned_at.pop(act.HARD, None)

    @precondition(lambda self: self.running())
    @rule()
    def reader_blocks_or_reads_on(self) -> None:
        self.blocked = not self.blocked
        self.tell(fact.Held(self.blocked))

    @precondition(lambda self: self.running())
    @rule(seconds=seconds)
    def keeper_was_stopped(self, seconds: float) -> None:
        self.now += seconds
        self.tell(fact.Paused(seconds))

    # -- the clock -------------------------------------------------------------------------------------------

    @precondition(lambda self: self.running())
    @rule()
    def wakes_at_once(self) -> None:
        self.wake()

    @precondition(lambda self: self.running())
    @rule(late=st.just(0.0) | seconds, together=st.booleans())
    def wakes_when_due(self, late: float, together: bool) -> None:
        due = self.dog.wake_at() if together else self.dog.deadline()
        self.now = (self.now if due is None else max(self.now, due)) + late
        self.wake()

    def wake(self) -> None:
        for _ in range(20):
            actions = self.dog.wake(self.now)
            self.quiesced = True
            for action in actions:
                self.perform(action)
            if (
                not any(isinstance(a, act.Look | act.Interrupt | act.Terminate | act.Kill) for a in actions)
                or not self.running()
            ):
                return
        raise AssertionError("the watchdog never comes to rest")

    def perform(self, action: Action) -> None:
        self.actions.append(action)
        match action:
            case act.Look():
                self.tell(fact.Looked(self.moves, "", self.still and not self.moves, self.explains))
                settled = self.now - self.spoke > SETTLE
                if self.moves and settled and self.asked.liveness == "progress" and not self.rests():
                    self.life = self.now
                    self.warned_at.pop(act.IDLE, None)
            case act.Warned(tier, _, left):
                assert left > 0
                self.warned_at[tier] = self.now
            case act.LimitReached(tier, _):
                self.check_timeout(tier)
            case act.Interrupt(reason):
                assert reason == act.CANCELLED
                if self.dies_of == "int":
                    self.tree_dies()
            case act.Terminate() if self.dies_of in ("int", "term"):
                self.tree_dies()
            case act.Kill(reason):
                assert reason == self.dog.reason
                if self.dies_of == "kill":
                    self.tree_dies()
            case _:
                pass

    def rests(self) -> bool:
        return self.blocked or act.IDLE in self.away

    def tree_dies(self) -> None:
        if not self.leader_gone:
            self.tell(fact.LeaderExited())
            self.leader_gone = True
        if not self.tree_gone:
            self.tell(fact.TreeGone())
            self.tree_gone = True

    def check_timeout(self, tier: str) -> None:
        """Never before its deadline, never without its warning."""
        limits = self.dog.limits
        if tier == act.IDLE:
            assert self.asked.idle is not None and limits.idle is not None  # noqa: PT018
            assert not self.rests()
            assert limits.idle == pytest.approx(self.asked.idle + self.extended_idle)
            assert self.now - self.life >= limits.idle - 1e-6
            ahead = lead(limits.idle, limits.warn)
        else:
            assert self.asked.hard is not None and limits.hard is not None  # noqa: PT018
            assert limits.hard == pytest.approx(self.asked.hard + self.extended_hard)
            assert act.HARD not in self.away
            assert self.now - 1000.0 - self.stood >= limits.hard - 1e-6
            ahead = lead(limits.hard, limits.warn)
        if ahead > 0:
            assert tier in self.warned_at
            assert self.now - self.warned_at[tier] >= ahead - 1e-6

    # -- what must always hold -------------------------------------------------------------------------------

    @invariant()
    def phases_only_move_forward_and_the_reason_stays(self) -> None:
        if not hasattr(self, "dog"):
            return
        assert PHASES.index(self.dog.phase) >= PHASES.index(self.phase_seen)
        self.phase_seen = self.dog.phase
        if self.reason_seen is not None:
            assert self.dog.reason == self.reason_seen
        self.reason_seen = self.dog.reason

    @invariant()
    def each_step_happens_once_and_in_order(self) -> None:
        if not hasattr(self, "dog"):
            return
        kinds = [type(a) for a in self.actions]
        for kind in (act.Interrupt, act.Terminate, act.Kill, act.Settle, act.LimitReached):
            assert kinds.count(kind) <= 1
        if act.Kill in kinds and act.Terminate not in kinds:
            assert self.forced
        if act.Kill in kinds and act.Terminate in kinds:
            assert kinds.index(act.Kill) > kinds.index(act.Terminate)
        if act.Interrupt in kinds and act.Terminate in kinds:
            assert kinds.index(act.Terminate) > kinds.index(act.Interrupt)
        if act.Settle in kinds:
            assert kinds[-1] is act.Settle
            assert self.dog.phase == ENDED

    @invariant()
    def after_a_wake_the_deadline_lies_ahead(self) -> None:
        if hasattr(self, "dog") and self.quiesced:
            due = self.dog.deadline()
            assert due is None or due > self.now

    @invariant()
    def a_keeper_on_time_acts_before_its_guard_would(self) -> None:
        """The guard acts some time after `limit_due`; whoever wakes when due has acted by then."""
        if self.dog.phase == ENDED:
            return
        limit, reason = self.dog.limit_due()
        deadline = self.dog.deadline()
        assert limit == NEVER or (deadline is not None and deadline <= limit), (deadline, limit, reason)
        if self.dog.phase == RUNNING:
            ends = [tier for tier in (self.dog.limits.idle, self.dog.limits.hard) if tier is not None]
            assert ends or limit == NEVER
            # a hard limit is always promised, unless the person in front keeps the job waiting
            assert self.dog.limits.hard is None or limit != NEVER or act.HARD in self.away

    @invariant()
    def what_is_put_off_is_put_off_a_little_and_no_promise(self) -> None:
        if not hasattr(self, "dog"):
            return
        due, at = self.dog.deadline(), self.dog.wake_at()
        assert (due is None) == (at is None)
        if due is None or at is None or at == due or not self.quiesced:
            return
        assert due < at < due + 1
        assert at == int(at)
        assert due - self.spoke >= PATIENT
        assert self.dog.phase == RUNNING
        probe = copy.deepcopy(self.dog)
        for _ in range(5):  # nobody is warned or ended in the time by which it is put off, nor soon after
            for action in probe.wake(at):
                assert isinstance(action, act.Look | act.Stuck | act.Quiet | act.Resumed | act.Extended)
                if isinstance(action, act.Look):
                    probe.tell(fact.Looked(False), at)
        ahead = probe.deadline()
        assert ahead is None or ahead > at

    @invariant()
    def what_is_remembered_is_what_would_be_found(self) -> None:
        if hasattr(self, "dog"):
            fresh = copy.copy(self.dog.clocks)  # its attributes are values: no copy of them is needed
            fresh._changed()
            for ask in (Clocks.look_due, Clocks.full_look_due, Clocks.next_due):
                assert ask(fresh) == ask(self.dog.clocks)

    @invariant()
    def an_illegal_call_changes_nothing(self) -> None:
        if not hasattr(self, "dog"):
            return
        before = _state_of(self.dog)
        illegal: list[tuple[fact.Fact, float]] = [
            (fact.Output(), self.now - 1),
            (fact.Extend(-1.0), self.now),
            (fact.Paused(-1.0), self.now),
            (fact.Heartbeat(-1.0), self.now),
            (fact.Looked(True), self.now),
            (fact.Held(self.blocked), self.now),
        ]
        if self.leader_gone:
            illegal.append((fact.LeaderExited(), self.now))
        else:
            illegal.append((fact.TreeGone(), self.now))
        if self.dog.phase != RUNNING:
            illegal.append((fact.Extend(1.0), self.now))
        if self.dog.phase == ENDED:
            illegal.append((fact.Output(), self.now))
        for what, when in illegal:
            try:  # not pytest.raises, which costs more than all the rest of this machine
                self.dog.tell(what, when)
            except IllegalCall:
                continue
            raise AssertionError(f"{what} was taken")
        assert before == _state_of(self.dog)

    def teardown(self) -> None:
        """It always ends: once nothing but the clock happens, few wakes reach the end (if there is a limit)."""
        if not hasattr(self, "dog"):
            return
        self.moves = False
        if self.blocked and self.running():
            self.reader_blocks_or_reads_on()
        if self.away and self.running():
            self.the_person_is_waited_for(())
        # a heartbeat may ask for much silence, looked at twice a second; without a limit it is looked at for ever
        unlimited = self.asked.idle is None and self.asked.hard is None
        for _ in range(200 if unlimited else 20_000):
            if not self.running():
                break
            due = self.dog.wake_at()
            if due is None and self.quiesced:
                break
            self.now = max(self.now, due or self.now)
            self.wake()
        if self.running():
            assert self.dog.phase == RUNNING
            assert self.asked.idle is None
            assert self.asked.hard is None
        else:
            assert sum(isinstance(a, act.Settle) for a in self.actions) == 1


def _state_of(dog: Watchdog) -> list[dict[str, object]]:
    """Every attribute of the machine and its clocks. They are values, but for lists, which are copied."""
    states = [vars(dog) | {"clocks": None}, vars(dog.clocks)]
    return [{name: copy.copy(value) for name, value in state.items()} for state in states]


TestTimeline = Timeline.TestCase
TestTimeline.settings = settings(
    max_examples=100,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
