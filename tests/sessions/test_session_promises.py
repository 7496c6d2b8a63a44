"""The session machine under arbitrary histories: what may never happen, checked at every step it takes.

The world is a model (world.py): turns, tools, dialogs, agents in the background, people at the keyboard, steps that
work or not, and a watcher that wakes late. Virtual time only.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.sessions.world import World
from unhang.core import session_events
from unhang.sessions.state import actions, facts, screen
from unhang.sessions.state import known as modes
from unhang.sessions.state.budget import HOUR, Budget
from unhang.sessions.state.limits import SessionLimits
from unhang.sessions.state.machine import Session

# Nothing here waits: what takes long is a machine that is shared by many.
pytestmark = pytest.mark.timeout(400)

seconds = st.floats(min_value=0.5, max_value=200)
limit = st.none() | seconds | seconds
rarely = st.sampled_from([False] * 5 + [True])
limits_strategy = st.builds(
    SessionLimits,
    turn=limit,
    total=limit,
    api=limit,
    tools=st.lists(st.tuples(st.sampled_from(["WebFetch", "mcp__*", "Bash", "*"]), limit), max_size=3).map(tuple),
    warn=limit,
    hands_off=seconds,
    verify=seconds,
    cooldown=st.floats(5, 200),
    retry=st.floats(30, 3000),
    escapes=st.integers(0, 3),
    per_session=st.integers(0, 6) | st.just(50),
    per_machine=st.integers(0, 8) | st.just(50),
    allow_clear=st.booleans(),
    clear_after=st.integers(1, 3),
    allow_restart=st.booleans(),
    dry_run=rarely,
    go_on=st.booleans(),
    on_hung=st.sampled_from(["wait", "end"]),
)
TOOLS = ["WebFetch", "WebSearch", "Bash", "mcp__slow__hang", "Agent", "Edit"]


class Checked(World):
    """Every promise about a step."""

    def check(self, action: actions.Take) -> None:
        limits = self.limits
        assert not limits.dry_run
        step = action.step
        looked = self.looked
        assert looked is not None, "a step without a look since the one before"
        recent = [at for at, _ in self.taken if at > self.now - HOUR]
        assert len(recent) < min(limits.per_session, limits.per_machine), "more than the budget"
        if step not in (actions.END_TREE, actions.KILL_TREE):
            assert not self.synchronized, "a key while panes are synchronized"
        if step == actions.ESCAPE and self.last("hung").fields["limit"] not in ("turn", "total"):
            assert not self.lives(), "Escape with an open command that works"
        if step in (actions.ESCAPE, actions.LEAVE_MODE, actions.RESTART):
            assert self.state == facts.BUSY
            assert self.main_busy, "only agents in the background are busy"
        if step == actions.CONTINUE:
            assert limits.go_on
            assert self.state == facts.IDLE
            assert not self.draft
            assert not action.text.startswith("/")
        if step == actions.CLEAR:
            assert limits.allow_clear
            assert self.state == facts.IDLE
            assert not self.main_busy
        if step == actions.RESTART:
            assert limits.allow_restart
            assert self.steps().count(actions.ESCAPE) >= limits.escapes
        if step in (actions.END_TREE, actions.KILL_TREE):
            assert isinstance(looked, facts.CallTree)
            assert looked.count
            assert action.call in self.calls
            kind, age, limit = (self.last("hung").fields[name] for name in ("limit", "ageMs", "limitMs"))
            if kind in ("tool", "agent_tool") and not (limits.on_hung == "end" and self.tree_hangs):
                assert age >= limit, "a command before its limit, without a proof"
            if step == actions.KILL_TREE:
                assert actions.END_TREE in self.steps()
        else:
            assert isinstance(looked, facts.Pane)
            assert not looked.refused
            assert not looked.human
            assert looked.screen.kind == screen.PROMPT or looked.in_mode
        if step not in (actions.CLEAR, actions.CONTINUE):
            hung = next(at for at, said in reversed(self.said) if said.phase == "hung")
            assert any(said.phase == "warning" and at <= hung for at, said in self.said), "without a warning"


class Histories(RuleBasedStateMachine):
    @initialize(
        limits=limits_strategy,
        status=st.sampled_from([True, True, True, False]),
        escape=st.booleans(),
        moves=rarely,
        hangs=st.booleans(),
        dies_of=st.sampled_from([actions.END_TREE, actions.KILL_TREE, "never"]),
    )
    def begin(self, limits: SessionLimits, status: bool, escape: bool, moves: bool, hangs: bool, dies_of: str) -> None:
        self.world = Checked(limits, status=status)
        self.world.tree_hangs = hangs
        self.world.escape_works, self.world.tree, self.world.tree_dies_of = escape, (1, moves), dies_of

    # --- the session ------------------------------------------------------------------------------------------

    @rule()
    @precondition(lambda self: not self.world.dialog)
    def prompt(self) -> None:
        self.world.prompt()

    @rule(name=st.sampled_from(TOOLS), timeout=st.none() | st.integers(1, 600_000))
    @precondition(lambda self: self.world.main_busy and not self.world.dialog)
    def tool(self, name: str, timeout: int | None) -> None:
        given: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        self.world.tool(name, **given)

    @rule(name=st.sampled_from(TOOLS))
    @precondition(lambda self: self.world.agents)
    def tool_of_an_agent(self, name: str) -> None:
        self.world.tool(name, agent=self.world.agents[0])

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: self.world.calls and not self.world.dialog)
    def tool_ends(self, which: int) -> None:
        calls = list(self.world.calls)
        self.world.tool_ends(calls[which % len(calls)])

    @rule()
    @precondition(lambda self: self.world.main_busy and not self.world.dialog)
    def batch_ends(self) -> None:
        self.world.calls = {call: whose for call, whose in self.world.calls.items() if whose}
        self.world.hook("PostToolBatch")
        self.world.wake()

    @rule()
    @precondition(lambda self: self.world.main_busy and not self.world.dialog and self.world.with_status)
    def agent_starts(self) -> None:
        self.world.agent_starts()

    @rule()
    @precondition(lambda self: self.world.agents and not self.world.dialog)
    def agent_stops(self) -> None:
        self.world.agent_stops()

    @rule()
    @precondition(lambda self: self.world.main_busy and not self.world.dialog)
    def stop(self) -> None:
        self.world.stop()

    @rule()
    @precondition(lambda self: self.world.main_busy and not self.world.dialog and self.world.with_status)
    def dialog_opens(self) -> None:
        self.world.dialog_opens()

    @rule()
    @precondition(lambda self: self.world.dialog)
    def dialog_closes(self) -> None:
        self.world.dialog_closes()

    @rule()
    @precondition(lambda self: self.world.main_busy and not self.world.dialog and self.world.with_status)
    def a_person_interrupts(self) -> None:
        self.world.interrupted()
        self.world.wake()

    @rule(method=st.sampled_from(["Notification", "PermissionRequest", "PreCompact", "SomethingNew"]))
    def another_hook(self, method: str) -> None:
        self.world.hook(method)
        self.world.wake()

    @rule()
    @precondition(lambda self: self.world.main_busy)
    def transcript_grows(self) -> None:
        self.world.tell(facts.Grew(self.world.now))
        self.world.wake()

    # --- the pane, and what steps do --------------------------------------------------------------------------

    @rule(
        refused=st.sampled_from([*[""] * 6, "tmux: no server", "its pane is dead"]),
        human=rarely,
        in_mode=rarely,
        insert=rarely,
        draft=st.sampled_from(["", "", "half a sentence", "another"]),
        synchronized=rarely,
    )
    def pane(self, refused: str, human: bool, in_mode: bool, insert: bool, draft: str, synchronized: bool) -> None:
        world = self.world
        world.synchronized = synchronized
        world.refused, world.human, world.in_mode, world.insert, world.draft = refused, human, in_mode, insert, draft

    @rule(
        escape=st.booleans(),
        count=st.integers(0, 3),
        moves=st.booleans(),
        dies_of=st.sampled_from([actions.END_TREE, actions.KILL_TREE, "never"]),
    )
    def effects(self, escape: bool, count: int, moves: bool, dies_of: str) -> None:
        self.world.escape_works = escape
        self.world.tree = (count, moves)
        self.world.tree_dies_of = dies_of

    @rule(name=st.sampled_from(TOOLS), time=st.floats(0, 2000))
    @precondition(lambda self: not self.world.dialog)
    def something_hangs(self, name: str, time: float) -> None:
        if not self.world.main_busy:
            self.world.prompt()
        self.world.tool(name)
        self.world.advance(time)

    @rule(time=st.floats(0, 2000))
    @precondition(lambda self: not self.world.dialog and self.world.with_status)
    def a_command_works_that_no_hook_tells_of(self, time: float) -> None:
        """Without hooks the watcher finds the call in the transcript, a while after it has begun."""
        if not self.world.main_busy:
            self.world.prompt()
        self.world.tree = (2, True)
        self.world.unhooked("Bash")
        self.world.advance(time)

    @rule(time=st.floats(0, 5000), late=st.sampled_from([0.0, 0.0, 0.01, 3.0, 1000.0]))
    def time_passes(self, time: float, late: float) -> None:
        self.world.advance(time, late)

    # --- always -----------------------------------------------------------------------------------------------

    @invariant()
    def nothing_runs_where_nothing_is_busy(self) -> None:
        world = self.world
        if world.with_status and world.state in (facts.IDLE, facts.WAITING):
            assert world.session.known.mode() in (modes.IDLE, modes.WAITING, modes.GONE)
            assert world.session.view(world.now)["next"] is None

    @invariant()
    def phases_are_documented(self) -> None:
        assert set(self.world.phases()) <= set(session_events.PHASES[session_events.WATCH])


Histories.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestHistories = Histories.TestCase


METHODS = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "Stop", "New"]
METHODS += ["StopFailure", "SubagentStart", "SubagentStop", "SessionStart", "SessionEnd", "Notification"]
words = st.text(max_size=8)
times = st.floats(-1e6, 1e6)
any_hook = st.builds(
    facts.Hook,
    method=st.sampled_from(METHODS),
    at=times,
    tool_name=st.sampled_from(TOOLS) | words,
    tool_use_id=st.sampled_from(["a", "b", "c", ""]),
    tool_input=st.dictionaries(st.sampled_from(["command", "timeout"]), st.none() | words | times | st.booleans()),
    agent_id=st.sampled_from(["", "", "x", "y"]),
    background_tasks=st.none() | st.integers(0, 3),
    moved_after=st.none() | st.floats(0, 1e6),
    source=st.sampled_from(["", "clear", "compact", "startup"]),
)
any_status = st.builds(
    facts.Status, st.none() | st.sampled_from(["busy", "idle", "waiting", "odd"]), st.integers(0, 3), times, words
)
any_screen = st.builds(
    screen.AgentScreen, st.sampled_from(["prompt", "dialog", "unknown"]), *[st.booleans()] * 3, draft=words
)
any_pane = st.builds(facts.Pane, words, *[st.booleans()] * 4, any_screen)
any_fact = (
    any_hook
    | any_status
    | st.builds(facts.Grew, times)
    | st.builds(facts.Renamed)
    | any_pane
    | st.builds(facts.CallTree, st.sampled_from(["a", "b"]), st.integers(0, 2), st.none() | st.booleans(), words)
    | st.builds(facts.Done, st.sampled_from(actions.STEPS), st.booleans(), words)
)


@settings(max_examples=150, deadline=None)
@given(limits_strategy, st.lists(st.tuples(any_fact, st.floats(0, 4000), st.booleans()), max_size=60))
def test_any_stream_of_facts_keeps_the_machine_within_its_budget_and_at_rest(
    limits: SessionLimits, stream: list[tuple[facts.Fact, float, bool]]
) -> None:
    """Facts in any order, answers nobody asked for, times from anywhere."""
    session, now = Session(limits, Budget(limits.per_machine), 0.0), 0.0
    taken: list[float] = []
    for fact, after, answers in stream:
        now += after
        session.tell(fact)
        for _ in range(100):
            wanted = session.wake(now)
            for action in wanted:
                if isinstance(action, actions.Take):
                    assert session.known.mode() in (modes.BUSY, modes.BACKGROUND, modes.IDLE)
                    if action.step == actions.ESCAPE:
                        assert session.known.mode() == modes.BUSY
                    taken = [at for at in taken if at > now - HOUR] + [now]
                    assert len(taken) <= min(limits.per_session, limits.per_machine)
                if answers and isinstance(action, actions.Take):
                    session.tell(facts.Done(action.step, sent=True))
            if not wanted:
                break
        else:
            raise AssertionError("it never comes to rest")
        session.view(now)
        session.deadline()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*"❯> \n\n│ab1.", "─" * 20, "\x1b[2m", "\x1b[0m", "\x1b[38;5;2m", "esc to interrupt"])))
def test_any_screen_can_be_read(pieces: list[str]) -> None:
    assert screen.read("".join(pieces)).kind in (screen.PROMPT, screen.DIALOG, screen.UNKNOWN)
