"""The pure parts: what updates mean, which budget runs, which option is picked, when a cancel may be sent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from unhang.agents.acp.protocol.cancel_guard import CancelGuard
from unhang.agents.acp.protocol.requests import ALLOW, ALLOW_ONCE, DENY, POLICIES, request_of
from unhang.agents.acp.protocol.turn import AcpSession, TurnBudgets
from unhang.agents.acp.protocol.updates import KINDS
from unhang.agents.acp.report import report
from unhang.agents.base.update import AgentUpdate

BUDGETS = TurnBudgets(startup=10.0, first=20.0, idle=30.0, tool=40.0)


def update(kind: str, session: str = "s", /, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind} | fields}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": words}, **fields)


def in_turn(budgets: TurnBudgets = BUDGETS) -> AcpSession:
    session = AcpSession(budgets)
    session.begin(0.0)
    session.adopt("s", 1.0)
    session.prompt(2.0)
    return session


def window_of(found: list[AgentUpdate]) -> float | str | None:
    """The last window that was told; "unchanged" if none was."""
    told = [one.window for one in found if one.windowed]
    return told[-1] if told else "unchanged"


# --- budgets --------------------------------------------------------------------------------------------------


def test_every_moment_has_its_budget() -> None:
    session = AcpSession(BUDGETS)
    assert window_of(session.begin(0.0)) == 10.0
    assert session.budget(4.0).to_json() == {"name": "startup", "limitMs": 10_000, "elapsedMs": 4000}
    session.adopt("s", 5.0)
    assert window_of(session.prompt(5.0)) == 20.0
    assert session.budget(6.0).name == "first"
    assert window_of(session.hear(update("available_commands_update"), 6.0)) == "unchanged"
    assert session.budget(7.0).elapsed == 2.0  # that was no response
    assert window_of(session.hear(text("hm"), 8.0)) is None
    assert session.budget(9.0).to_json() == {"name": "idle", "limitMs": 30_000, "elapsedMs": 1000}
    call = update("tool_call", toolCallId="t", title="make", kind="execute", rawInput={"command": "make"})
    assert window_of(session.hear(call, 10.0)) == 40.0
    assert session.budget(11.0).name == "tool"
    done = update("tool_call_update", toolCallId="t", status="completed")
    assert window_of(session.hear(done, 12.0)) is None
    assert session.budget(12.0).name == "idle"
    session.answered({"stopReason": "end_turn"}, 13.0)
    assert session.silent(100.0) == 0.0
    assert window_of(session.prompt(14.0)) == 20.0


def test_a_budget_without_a_length_of_its_own_is_the_idle_limit() -> None:
    session = in_turn(TurnBudgets(idle=30.0))
    assert (session.window, session.budget(3.0).to_json()["limitMs"]) == (None, 30_000)


def test_the_limit_of_a_tool_is_the_policys_for_its_command() -> None:
    session = in_turn(TurnBudgets(idle=30.0))
    quick = update("tool_call", toolCallId="a", rawInput={"command": "ls"})
    build = update("tool_call", toolCallId="b", rawInput={"command": ["cargo", "build"]})
    short, long = window_of(session.hear(quick, 3.0)), window_of(session.hear(build, 3.0))
    assert isinstance(short, float)
    assert isinstance(long, float)
    assert short < long
    assert short == 30.0
    patient = in_turn(TurnBudgets(idle=3000.0))
    assert window_of(patient.hear(build, 3.0)) == 3000.0  # never shorter than the idle limit, unless --tool says so


def test_a_permission_before_any_word_of_its_tool_starts_the_tools_clock_when_it_is_given() -> None:
    """As Gemini does it: nothing is announced, and nothing more is said until the tool is over."""
    session = in_turn()
    call = {"toolCallId": "t", "title": "sleep 9", "kind": "execute"}
    assert window_of(session.asks(call, 300.0, 3.0)) == 300.0
    assert session.budget(4.0).name == "permission"
    assert session.stall_reason(4.0).cause == "input"
    assert window_of(session.permitted(call, True, 50.0)) == 40.0
    assert session.budget(60.0).to_json() == {"name": "tool", "limitMs": 40_000, "elapsedMs": 10_000}
    assert "sleep 9" in session.stall_reason(60.0).reason
    over = session.hear(update("tool_call_update", toolCallId="t", status="completed"), 61.0)
    assert over[0].fields["ageMs"] == 11_000


def test_a_refused_tool_is_not_in_flight() -> None:
    session = in_turn()
    call = {"toolCallId": "t", "title": "rm"}
    session.permitted(call, False, 3.0)
    assert session.budget(4.0).name == "idle"
    (said,) = session.hear(update("tool_call_update", toolCallId="t", status="failed"), 5.0)
    assert all(part in said.message for part in ("rm", "failed", "2s"))


def test_a_tool_that_is_never_said_to_be_over_ends_with_its_turn() -> None:
    session = in_turn()
    session.hear(update("tool_call", toolCallId="t", title="a server"), 3.0)
    (said,) = session.answered({"stopReason": "end_turn"}, 4.0)
    assert said.fields["unfinished"] == ["a server"]
    assert (said.windowed, said.window) == (True, None)
    assert session.hear(update("tool_call_update", toolCallId="t", title="late"), 5.0) == []
    session.prompt(6.0)
    assert session.hear(update("tool_call_update", toolCallId="t", title="late"), 7.0) == []
    assert session.budget(8.0).name == "first"


def test_a_tool_that_gets_its_name_later_is_shown_by_it_at_once() -> None:
    session = in_turn()
    session.hear(update("tool_call", toolCallId="t", title="bash", kind="execute"), 3.0)
    named = update("tool_call_update", toolCallId="t", rawInput={"command": "make check"})
    (said,) = session.hear(named, 3.01)
    assert (said.message, said.phase, said.fields["command"]) == ("make check", "verifying", "make check")
    assert session.hear(named, 3.02) == []  # the same again is no sign of life
    renamed = [update("tool_call_update", toolCallId="u", title=f"{number} %") for number in range(100)]
    told = [one for number, again in enumerate(renamed) for one in session.hear(again, 4 + number / 100)]
    assert len([one for one in told if one.phase]) <= 6
    assert all(one.alive for one in told)


# --- signs of life --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_only_some_kinds_of_update_are_signs_of_life(kind: str) -> None:
    session = in_turn()
    fields: dict[str, Any] = {"content": {"type": "text", "text": "x"}, "toolCallId": "t", "entries": [], "used": 5}
    found = session.hear(update(kind, **fields), 3.0)
    lively = {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "plan_update"}
    lively |= {"terminal_update", "terminal_output_chunk", "tool_call_content_chunk"}
    assert any(one.alive for one in found) == (kind in lively)
    assert "unknown" not in [one.phase for one in found]


def test_nothing_is_a_sign_of_life_outside_of_a_turn() -> None:
    session = AcpSession(BUDGETS)
    session.begin(0.0)
    for kind in KINDS:
        found = session.hear(update(kind, content={"type": "text", "text": "x"}, toolCallId="t"), 5.0)
        assert not any(one.alive for one in found)
    assert session.budget(9.0).elapsed == 9.0
    assert session.text == ""


def test_empty_chunks_are_no_update() -> None:
    """Qwen sends one with the tokens of every response, also while a tool of it is announced."""
    session = in_turn()
    session.hear(update("tool_call", toolCallId="t"), 3.0)
    assert session.hear(text(""), 4.0) == []


def test_output_of_a_command_in_the_background_is_no_sign_of_life() -> None:
    session = in_turn()
    session.hear(update("tool_call", toolCallId="t", status="in_progress", title="a server"), 3.0)
    chatter = update("tool_call_update", toolCallId="t", _meta={"terminal_output_delta": {"data": "GET /"}})
    assert session.hear(chatter, 6.0)[0].alive
    session.hear(text("It runs. Now"), 7.0)
    assert not any(one.alive for one in session.hear(chatter, 10.0))
    assert session.budget(11.0).elapsed == 4.0
    working = update("tool_call_update", toolCallId="t", status="in_progress")
    assert session.hear(working, 12.0)[0].alive


def test_chunks_are_events_now_and_then_and_their_text_is_whole() -> None:
    session = in_turn()
    events = 0
    for number in range(1000):
        events += sum(bool(one.phase) for one in session.hear(text("ab "), 3.0 + number / 100))
    assert 5 <= events <= 7
    assert session.text == "ab " * 1000
    assert session.fresh() == "ab " * 1000
    assert session.fresh() == ""


def test_messages_stand_on_lines_of_their_own() -> None:
    session = in_turn()
    session.hear(text("one", messageId="1"), 3.0)
    session.hear(text(" more", messageId="1"), 3.0)
    session.hear(text("two", messageId="2"), 3.0)
    session.hear(update("tool_call", toolCallId="t"), 3.0)
    session.hear(text("three"), 3.0)
    session.hear(text("of another", messageId="9") | update_of_another(), 3.0)
    assert session.text == "one more\ntwo\nthree"


def update_of_another() -> dict[str, Any]:
    return update("agent_message_chunk", "another", content={"type": "text", "text": "not ours"})


def test_a_plan_and_tokens_are_kept() -> None:
    session = in_turn()
    entries = [{"content": "look", "status": "completed"}, {"content": "change", "status": "in_progress"}, 7]
    (said,) = session.hear(update("plan", entries=entries), 3.0)
    assert "1 of 2" in said.message
    assert "change" in said.message
    session.hear(update("usage_update", used=50, size=200, cost={"amount": 0.5, "currency": "USD"}), 3.0)
    session.answered({"stopReason": "end_turn", "usage": {"inputTokens": 40, "outputTokens": True}}, 4.0)
    wanted = {"contextTokens": 50, "contextWindow": 200, "occupancy": 0.25, "inputTokens": 40}
    assert session.usage.latest == wanted | {"cost": {"amount": 0.5, "currency": "USD"}}


@pytest.mark.parametrize(
    ("reason", "phase"),
    [("end_turn", "completed"), ("cancelled", "stopping"), ("refusal", "warning"), ("max_tokens", "warning")],
)
def test_every_end_of_a_turn_has_a_phase_and_its_stop_reason(reason: str, phase: str) -> None:
    session = in_turn()
    (said,) = session.answered({"stopReason": reason}, 3.0)
    assert (said.phase, said.fields["stopReason"]) == (phase, reason)
    assert session.ended is not None
    assert session.ended.reason == reason


def test_a_clock_beside_a_silent_command_is_no_sign_of_life() -> None:
    """Qwen Code sends one every ten seconds."""
    session = in_turn()
    session.hear(update("tool_call", toolCallId="t", title="make", status="in_progress"), 1.0)
    for at in range(10, 200, 10):
        meta = {"shellProgress": {"type": "shell_progress", "elapsedMs": 1000 * at}}
        said = session.hear(update("tool_call_update", toolCallId="t", status="in_progress", _meta=meta), at)
        assert any(one.alive for one in said) == (at == 10), "its first word is one"
        assert any(one.phase for one in said) == (at == 10), "a person is not told the same again and again"
    assert session.budget(200.0).elapsed == 190.0


def test_the_same_plan_again_is_no_sign_of_life() -> None:
    session = in_turn()
    plan = update("plan", entries=[{"content": "look", "status": "pending"}])
    assert [one.alive for one in session.hear(plan, 3.0)] == [True]
    assert [one.alive for one in session.hear(plan, 4.0)] == [False]
    done = update("plan", entries=[{"content": "look", "status": "completed"}])
    assert [one.alive for one in session.hear(done, 5.0)] == [True]


# --- questions ------------------------------------------------------------------------------------------------

KINDS_OF_OPTIONS = ("allow_once", "allow_always", "reject_once", "reject_always", "something_new", "")


def permission(*kinds: str) -> Any:
    options = [{"optionId": f"o{number}", "kind": kind, "name": kind} for number, kind in enumerate(kinds)]
    return request_of({"id": 1, "method": "session/request_permission", "params": {"options": options}})


@given(kinds=st.lists(st.sampled_from(KINDS_OF_OPTIONS), max_size=6), decision=st.sampled_from(POLICIES[:3]))
def test_a_decision_never_picks_its_opposite_or_more_than_it_may(kinds: list[str], decision: str) -> None:
    request = permission(*kinds)
    reply, how = request.decided(decision)
    outcome = reply["result"]["outcome"]
    picked = kinds[int(outcome["optionId"][1:])] if outcome["outcome"] == "selected" else ""
    assert (
        picked
        in {
            DENY: ("reject_once", "reject_always", ""),
            ALLOW: ("allow_once", "allow_always", ""),
            ALLOW_ONCE: ("allow_once", "reject_once", "reject_always", ""),
        }[decision]
    )
    if decision == ALLOW and "allow_once" in kinds:
        assert picked == "allow_once"
    assert how == ("cancelled" if not picked else "allowed" if picked.startswith("allow") else "denied")


@pytest.mark.parametrize(
    "call",
    [
        {"title": "Bash", "content": [{"type": "content", "content": {"type": "text", "text": "$ rm -r build"}}]},
        {"title": "Bash", "rawInput": {"command": ["rm", "-r", "build"]}},
        {"title": "rm -r build", "rawInput": 7, "content": "odd", "locations": [3]},
        {"kind": "edit", "locations": [{"path": "rm -r build"}]},
        {"title": "Write", "content": [{"type": "diff", "path": "rm -r build", "newText": "x"}]},
        {"title": "WebFetch", "rawInput": {"url": "rm -r build"}},
    ],
)
def test_a_question_shows_what_would_be_done_wherever_the_agent_says_it(call: dict[str, Any]) -> None:
    request = request_of({"id": 1, "method": "session/request_permission", "params": {"toolCall": call}})
    assert request is not None
    assert "rm -r build" in request.text


def test_an_answer_may_name_an_option() -> None:
    request = permission("allow_once", "allow_always", "reject_once")
    assert [request.pick(word).id for word in ("2", "o1", "ALLOW_always")] == ["o1", "o1", "o1"]
    assert request.pick("7") is None


# --- the turn machine -----------------------------------------------------------------------------------------


class Cancelling(RuleBasedStateMachine):
    """A session of an agent that acts on a cancel at any later moment: it never hits another turn than it was for."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = CancelGuard()
        self.number = 0
        self.meant: int | None = None  # the turn that the cancel on its way is for
        self.at: int | None = None  # the turn that the agent is in
        self.sent = 0

    @rule()
    def prompt(self) -> None:
        self.number += 1
        if self.turns.begin(self.number):
            assert self.at is None
            self.at = self.number

    @rule(back=st.integers(0, 3))
    def cancel(self, back: int) -> None:
        if self.turns.cancel(self.number - back):
            self.sent += 1
            self.meant = self.number - back
            assert self.at == self.meant, "a cancel for a turn that does not run"

    @precondition(lambda self: self.at is not None)
    @rule()
    def answer(self) -> None:
        assert self.at is not None
        assert self.turns.ended(self.at)
        self.at = None

    @rule(back=st.integers(1, 3))
    def answer_of_an_older_turn(self, back: int) -> None:
        if self.number - back != self.at:
            assert not self.turns.ended(self.number - back)

    @precondition(lambda self: self.meant is not None)
    @rule()
    def the_agent_gets_around_to_it(self) -> None:
        assert self.at in (None, self.meant), "the cancel hit the next turn"

    @invariant()
    def one_cancel_at_most(self) -> None:
        assert self.sent <= 1
        assert self.turns.running == self.at


TestCancelling = Cancelling.TestCase

# --- anything at all ------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = [
    "toolCallId",
    "status",
    "title",
    "kind",
    "rawInput",
    "content",
    "entries",
    "used",
    "size",
    "cost",
    "state",
    "messageId",
    "stopReason",
    "_meta",
    "plan",
]
LIKELY = st.sampled_from(["t1", "t2", "pending", "in_progress", "completed", "failed", "idle", "end_turn", "execute"])
UPDATES = st.builds(
    lambda kind, fields, session: update(kind, session, **fields),
    st.sampled_from(sorted(KINDS)) | st.text(max_size=12),
    st.dictionaries(st.sampled_from(NAMES), LIKELY | JSON, max_size=6),
    st.sampled_from(["s", "other", ""]),
)
ANYTHING = UPDATES | st.dictionaries(st.sampled_from(["method", "params", "id", "result", "error"]), JSON, max_size=4)
STEPS = st.tuples(
    st.sampled_from(["hear", "hear", "hear", "prompt", "answered", "failed", "asks", "permitted"]), ANYTHING
)


@given(steps=st.lists(STEPS, max_size=30), version=st.sampled_from([1, 2]))
def test_whatever_an_agent_says_is_understood_or_kept(steps: list[tuple[str, Any]], version: int) -> None:
    session = AcpSession(BUDGETS)
    session.version = version
    known = [one for one in session.begin(0.0) if one.windowed][-1].window
    session.adopt("s", 0.0)
    for at, (what, message) in enumerate(steps, 1):
        now = float(at)
        before = session.budget(now).elapsed
        match what:
            case "hear":
                found = session.hear(message, now)
            case "prompt":
                found = session.prompt(now)
            case "answered":
                found = session.answered(message, now)
            case "failed":
                found = session.failed({"message": str(message)}, now)
            case "asks":
                found = session.asks(message, 300.0, now)
            case _:
                found = session.permitted(message, at % 2 == 0, now)
        for said in found:
            assert not said.empty
            said.to_json()
            assert len(said.message) < 2000
            if said.windowed:
                known = said.window
        assert known == session.window, "the keeper knows another window"
        if what == "hear" and not any(one.alive for one in found) and session.in_turn:
            assert session.budget(now).elapsed == before, "the clock moved without a sign of life"
        assert session.budget(now).name in ("startup", "first", "idle", "tool", "permission")
        assert session.stall_reason(now).reason


@given(message=st.dictionaries(st.sampled_from(["method", "params", "id"]), JSON, max_size=3))
def test_every_request_can_be_answered(message: dict[str, Any]) -> None:
    request = request_of(message)
    if request is None:
        return
    for reply in (request.refusal(), request.cancelled(), *(request.decided(policy)[0] for policy in POLICIES)):
        assert reply["id"] == message["id"]
        assert ("result" in reply) != ("error" in reply)


@given(events=st.lists(st.dictionaries(st.sampled_from(["type", "phase", "budget", "step", "decision"]), JSON)))
def test_a_report_is_made_of_any_events(events: list[dict[str, Any]]) -> None:
    assert report(events)["toolCalls"] == []
