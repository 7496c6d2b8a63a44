"""The pure adapter, by itself: what is life, what is a window, what is unknown, what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.agents.base.update import AgentUpdate
from unhang.agents.codex.protocol import hints, items, notifications
from unhang.agents.codex.protocol.exec_events import CodexExec
from unhang.agents.codex.protocol.requests import METHODS as REQUESTS
from unhang.agents.codex.protocol.requests import request_of
from unhang.agents.codex.protocol.thread import METHODS, CodexThread
from unhang.agents.codex.report import report


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "T", "turnId": "U"} | params}


def item(kind: str, identity: str = "i1", **fields: Any) -> dict[str, Any]:
    return {"item": {"type": kind, "id": identity} | fields}


def in_a_turn() -> CodexThread:
    codex = CodexThread()
    codex.adopt("T", 0.0)
    codex.hear(note("turn/started", turn={"id": "U"}), 0.0)
    return codex


def only(said: list[AgentUpdate]) -> AgentUpdate:
    (one,) = said
    return one


def test_what_comes_often_without_progress_is_no_sign_of_life() -> None:
    codex = in_a_turn()
    for method in ("account/rateLimits/updated", "thread/status/changed", "warning", "thread/tokenUsage/updated"):
        assert not any(said.alive for said in codex.hear(note(method), 1.0)), method
    again = note("error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    assert not only(codex.hear(again, 1.0)).alive
    codex.hear(again, 5.0)
    stalled = codex.stall_reason(5.0)
    assert (stalled.cause, stalled.hints) == ("network", [hints.NETWORK, hints.RESUME])


def test_a_delta_is_life_and_ends_the_talk_of_reconnecting() -> None:
    codex = in_a_turn()
    codex.hear(note("error", error={"message": "Reconnecting... 1/5"}, willRetry=True), 1.0)
    assert only(codex.hear(note("item/agentMessage/delta", itemId="m", delta="x"), 2.0)).alive
    stalled = codex.stall_reason(3.0)
    assert (stalled.cause, stalled.hints, codex.silent(3.0)) == ("network", [hints.RESUME], 1.0)


def test_deltas_become_one_event_in_two_seconds() -> None:
    codex = in_a_turn()
    said = [only(codex.hear(note("item/agentMessage/delta", itemId="m", delta="ab "), n / 10)) for n in range(100)]
    assert all(one.alive for one in said)
    assert len([one for one in said if one.phase]) == 5


def test_a_command_opens_a_window_of_its_own_limit_and_closes_it() -> None:
    codex = in_a_turn()
    begun = only(codex.hear(note("item/started", **item("commandExecution", command="/bin/bash -lc 'npm test'")), 1.0))
    assert (begun.phase, begun.windowed, begun.window) == ("verifying", True, 300.0)
    assert only(codex.hear(note("item/commandExecution/outputDelta", itemId="i1", delta="."), 2.0)).alive
    ended = only(codex.hear(note("item/completed", **item("commandExecution", command="npm test", exitCode=1)), 3.0))
    assert (ended.windowed, ended.window, ended.message) == (True, None, "Exited with 1: npm test")


def test_a_command_in_the_background_is_no_sign_of_life() -> None:
    codex = in_a_turn()
    codex.hear(note("item/started", **item("commandExecution", command="npm run dev")), 1.0)
    spoke = only(codex.hear(note("item/agentMessage/delta", itemId="m", delta="x"), 2.0))
    assert (spoke.windowed, spoke.window) == (True, None)
    assert codex.hear(note("item/commandExecution/outputDelta", itemId="i1", delta="GET /"), 3.0) == []
    looked = only(codex.hear(note("item/commandExecution/terminalInteraction", itemId="i1"), 4.0))
    assert looked.windowed
    assert looked.window is not None
    assert only(codex.hear(note("item/commandExecution/outputDelta", itemId="i1", delta="GET /"), 5.0)).alive


def test_a_sleep_of_codexs_may_be_as_long_as_it_said() -> None:
    codex = in_a_turn()
    assert only(codex.hear(note("item/started", **item("sleep", durationMs=600_000)), 1.0)).window == 630.0


def test_the_turn_of_another_thread_does_not_end_ours() -> None:
    codex = in_a_turn()
    other = {"threadId": "other", "turn": {"id": "X", "status": "failed", "error": {"message": "no"}}}
    codex.hear({"method": "turn/completed", "params": other}, 1.0)
    assert codex.turn == "U"
    assert codex.ended is None
    codex.hear(note("turn/completed", turn={"id": "U", "status": "completed"}), 2.0)
    assert codex.ended is not None


def test_occupancy_warns_once_a_level_and_again_after_a_compaction() -> None:
    codex = in_a_turn()

    def use(tokens: int) -> list[str]:
        usage = {"last": {"totalTokens": tokens}, "total": {"totalTokens": 10**6}, "modelContextWindow": 1000}
        return [said.phase for said in codex.hear(note("thread/tokenUsage/updated", tokenUsage=usage), 1.0)]

    said = [use(tokens) for tokens in (700, 800, 900, 950, 960, 100, 820)]
    assert [len(phases) for phases in said] == [1, 2, 1, 2, 1, 1, 2]
    assert said[1] == ["metering", "warning"]


def test_what_is_new_keeps_its_raw() -> None:
    new = note("thread/telepathy/started", strength=3)
    said = only(in_a_turn().hear(new, 1.0))
    assert said.phase == "unknown"
    assert json.loads(said.raw) == new
    thing = only(in_a_turn().hear(note("item/started", **item("telepathy")), 1.0))
    assert (thing.phase, thing.alive) == ("unknown", False)
    assert "telepathy" in thing.raw


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_is_known_with_nothing_in_it(method: str) -> None:
    odd: list[dict[str, Any]] = [{}, {"threadId": "T"}, {"item": None, "turn": [], "error": 3, "status": 1}]
    for params in odd:
        phases = [said.phase for said in in_a_turn().hear({"method": method, "params": params}, 1.0)]
        # (an item without a type is unknown)
        assert "unknown" not in phases or method in ("item/started", "item/completed")


@pytest.mark.parametrize("kind", sorted(items.TYPES))
def test_every_item_begins_and_ends_in_words(kind: str) -> None:
    codex = in_a_turn()
    begun = codex.hear(note("item/started", **item(kind)), 1.0)
    ended = codex.hear(note("item/completed", **item(kind)), 2.0)
    assert "unknown" not in [said.phase for said in begun + ended]
    assert all(said.message and "\n" not in said.message for said in begun + ended if said.phase)
    assert codex.tools.window is None


@pytest.mark.parametrize("method", REQUESTS)
@pytest.mark.parametrize("accept", [True, False])
def test_every_request_has_an_answer(method: str, accept: bool) -> None:
    request = request_of({"id": 0, "method": method, "params": {"command": "ls", "reason": "why"}})
    assert request is not None
    answer = request.answer(accept)
    assert answer["id"] == 0
    assert ("result" in answer) != ("error" in answer)
    assert request.approval == ("pproval" in method)


def test_the_report_is_of_the_first_thread_and_names_every_answer() -> None:
    events: list[dict[str, Any]] = [
        {"type": "agent", "phase": "starting", "threadId": "T", "model": "m"},
        {"type": "agent", "phase": "warning", "threadId": "T", "decision": "denied", "request": "r", "by": "policy"},
        {"type": "agent", "phase": "running", "threadId": "other", "turnStatus": "failed"},
        {"type": "agent", "phase": "completed", "threadId": "T", "turnStatus": "completed", "reply": "hi"},
        {"type": "job/exited"},
    ]
    found = report(events)
    assert (found["threadId"], found["turnStatus"], found["reply"]) == ("T", "completed", "hi")
    assert found["approvals"] == [{"request": "r", "decision": "denied", "by": "policy"}]
    assert report([])["threadId"] is None
    second: list[dict[str, Any]] = [
        {"type": "job/started", "attempt": 2},
        {"type": "agent", "phase": "starting", "threadId": "T2"},
    ]
    assert report([*events, *second])["threadId"] == "T2"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_KEYS = [
    "item",
    "turn",
    "error",
    "status",
    "tokenUsage",
    "delta",
    "itemId",
    "threadId",
    "plan",
    "type",
    "id",
    "changes",
]


@given(st.sampled_from(sorted(METHODS)), st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=5), _JSON)
def test_no_message_breaks_the_adapter(method: str, params: dict[str, Any], inner: Any) -> None:
    codex = in_a_turn()
    shaped = params | {"item": {"type": "commandExecution", "id": inner, "command": inner, "changes": inner}}
    for one in (params, shaped):
        for said in codex.hear({"method": method, "params": one}, 1.0):
            json.dumps(said.to_json())
    CodexExec().hear({"type": "item.completed", "item": shaped["item"], "usage": inner, "message": inner}, 1.0)


def test_the_plain_notices_and_the_others_do_not_overlap() -> None:
    codex = CodexThread()
    assert set(notifications.PLAIN) <= METHODS
    assert codex.stall_reason(1.0).cause == "unknown"
