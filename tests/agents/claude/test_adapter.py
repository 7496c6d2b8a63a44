"""The pure adapter, by itself: what is life, what is a window, what is unknown, what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.claude import recordings
from unhang.agents.base.update import AgentUpdate
from unhang.agents.claude.protocol import errors
from unhang.agents.claude.protocol.stream import ClaudeStream
from unhang.agents.claude.protocol.system import OTHERS, SYSTEM
from unhang.agents.claude.protocol.tools import ClaudeTools
from unhang.agents.claude.report import report
from unhang.core.limits import DEFAULT_IDLE


def in_a_turn(**options: Any) -> ClaudeStream:
    claude = ClaudeStream(**options)
    claude.begin(0.0)
    claude.hear({"type": "system", "subtype": "init", "session_id": "S", "model": "m"}, 0.0)
    claude.hear({"type": "system", "subtype": "status", "status": "requesting"}, 0.0)
    return claude


def delta(text: str, kind: str = "text_delta") -> dict[str, Any]:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": kind, "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None}


def call(name: str, identity: str = "t1", parent: str | None = None, **given: Any) -> dict[str, Any]:
    use = {"type": "tool_use", "id": identity, "name": name, "input": given}
    return {"type": "assistant", "message": {"content": [use]}, "parent_tool_use_id": parent}


def returned(identity: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "content": "out", "is_error": False} | more
    return {"type": "user", "message": {"content": [block]}}


def result(**more: Any) -> dict[str, Any]:
    base = {"type": "result", "subtype": "success", "is_error": False, "result": "ok", "terminal_reason": "completed"}
    return base | more


def retry(status: int | None = 529) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 10,
        "error_status": status,
        "error": "overloaded",
    }


def only(said: list[AgentUpdate]) -> AgentUpdate:
    (one,) = said
    return one


def test_what_comes_often_without_progress_is_no_sign_of_life() -> None:
    claude = in_a_turn()
    idle: list[dict[str, Any]] = [
        retry(),
        {"type": "stream_event", "event": {"type": "ping"}},
        {"type": "keep_alive"},
        {"type": "tool_progress", "tool_name": "Bash", "elapsed_time_seconds": 30, "heartbeat": True},
        {"type": "rate_limit_event", "rate_limit_info": {}},
        {"type": "system", "subtype": "status", "status": "requesting"},
        {"type": "system", "subtype": "permission_denied", "tool_name": "Bash"},
        {"type": "system", "subtype": "informational", "content": "still there"},
    ]
    for message in idle:
        assert not any(said.alive for said in claude.hear(message, 1.0)), message
    assert claude.silent(9.0) == 9.0


def test_a_delta_is_life_and_ends_the_talk_of_retries() -> None:
    claude = in_a_turn()
    claude.hear(retry(), 1.0)
    claude.hear(retry(), 5.0)
    assert errors.network() in claude.stall_reason(5.0).suggestions
    assert only(claude.hear(delta("x"), 6.0)).alive
    assert errors.network() not in claude.stall_reason(7.0).suggestions
    assert (claude.stall_reason(7.0).cause, claude.silent(7.0)) == ("network", 1.0)


def test_deltas_become_one_event_in_two_seconds() -> None:
    claude = in_a_turn()
    said = [only(claude.hear(delta("ab "), n / 10)) for n in range(100)]
    assert all(one.alive for one in said)
    previews = [one for one in said if one.phase]
    assert len(previews) == 5
    assert previews[1].message.startswith("Claude writes: ab ab")


@pytest.mark.parametrize(
    ("name", "given", "limit"),
    [
        ("Bash", {"command": "make"}, 180.0),
        ("Bash", {"command": "make", "timeout": 300_000}, 360.0),
        ("Bash", {"command": "make", "timeout": 9_000_000}, 660.0),
        ("Bash", {"command": "make", "timeout": "soon"}, 180.0),
        ("WebFetch", {"url": "http://x"}, 180.0),
        ("WebSearch", {"query": "x"}, 600.0),
        ("mcp__slow__hang", {}, 1800.0),
        ("Task", {"prompt": "x"}, 1800.0),
        ("Read", {"file_path": "x"}, DEFAULT_IDLE),
    ],
)
def test_a_tool_in_flight_has_its_own_window(name: str, given: dict[str, Any], limit: float) -> None:
    claude = in_a_turn()
    begun = only(claude.hear(call(name, **given), 1.0))
    assert (begun.windowed, begun.window) == (True, limit)
    done = only(claude.hear(returned(), 2.0))
    assert (done.windowed, done.window, done.alive) == (True, None, True)


def test_a_limit_for_all_tools_and_the_timeouts_of_the_environment_are_used() -> None:
    assert ClaudeTools(7.0).limit_of({"name": "Bash", "input": {}}) == 7.0
    assert ClaudeTools(bash_default=5.0).limit_of({"name": "Bash", "input": {}}) == 65.0
    assert ClaudeTools(bash_default=900.0).limit_of({"name": "Bash", "input": {}}) == 960.0


def test_parallel_calls_are_told_with_their_ages() -> None:
    claude = in_a_turn()
    claude.hear(call("Bash", "a", command="make"), 10.0)
    claude.hear(call("WebFetch", "b", url="http://x"), 20.0)
    assert claude.tools.window == 180.0
    assert claude.tools.ages(30.0) == [
        {"tool": "Bash", "what": "make", "ageMs": 20000},
        {"tool": "WebFetch", "what": "http://x", "ageMs": 10000},
    ]
    reason = claude.stall_reason(30.0).reason
    assert all(part in reason for part in ("Bash", "20s", "make", "WebFetch", "10s", "http://x"))
    claude.hear(returned("a"), 31.0)
    reason = claude.stall_reason(32.0).reason
    assert "12s" in reason
    assert "Bash" not in reason


@pytest.mark.parametrize(
    ("message", "phase"),
    [
        (call("Bash", command="npm test"), "verifying"),
        (call("Bash", command="ls"), "running"),
        (call("Edit", file_path="a.py"), "editing"),
        (call("Write", file_path="a.py"), "editing"),
        (call("WebSearch", query="x"), "running"),
        (call("TodoWrite"), "thinking"),
        ({"type": "system", "subtype": "status", "status": "compacting"}, "compacting"),
        ({"type": "rate_limit_event"}, "metering"),
        (retry(), "warning"),
        (result(), "completed"),
        (result(is_error=True, terminal_reason="api_error", api_error_status=400), "failed"),
        (result(is_error=True, terminal_reason="aborted_tools"), "stopping"),
        ({"type": "telepathy"}, "unknown"),
        ({"type": "system", "subtype": "telepathy"}, "unknown"),
        ({"type": "stream_event", "event": {"type": "telepathy"}}, "unknown"),
    ],
)
def test_each_message_has_its_phase(message: dict[str, Any], phase: str) -> None:
    assert in_a_turn().hear(message, 1.0)[-1].phase == phase


def test_a_result_without_is_error_is_no_success() -> None:
    claude = in_a_turn()
    claude.hear({"type": "result", "subtype": "success"}, 1.0)
    assert claude.ended is not None
    assert claude.ended.is_error


def test_a_later_result_replaces_an_earlier_one_whole() -> None:
    claude = in_a_turn()
    failed = result(is_error=True, terminal_reason="api_error", result="API Error", api_error_status=500)
    said = [*claude.hear(failed, 1.0), *claude.hear(result(result="fine"), 2.0)]
    found = report({"type": "agent"} | one.to_json() for one in said)
    assert (found["isError"], found["result"], found["error"], found["terminalReason"]) == (
        False, "fine", None, "completed",
    )  # fmt: skip
    assert found["results"] == 2


def test_what_works_in_the_background_is_known() -> None:
    claude = in_a_turn()
    tasks = [
        {"task_id": "a", "task_type": "local_agent", "description": "sub"},
        {"task_id": "b", "task_type": "local_bash", "description": "server"},
    ]
    claude.hear({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}, 1.0)
    claude.hear(result(), 2.0)
    assert (claude.background, claude.agents) == ({"a": "sub", "b": "server"}, {"a"})
    assert claude.silent(12.0) == 10.0, "an agent in the background must show life too"
    assert "sub, server" in claude.stall_reason(12.0).reason
    claude.hear({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks[1:]}, 3.0)
    assert claude.silent(12.0) == 0.0


def test_a_hook_that_does_not_end_is_named() -> None:
    claude = in_a_turn()
    hook = {"type": "system", "hook_id": "h", "hook_name": "Stop", "hook_event": "Stop"}
    claude.hear(hook | {"subtype": "hook_started"}, 1.0)
    stalled = claude.stall_reason(61.0)
    assert (stalled.cause, "Stop" in stalled.reason) == ("unknown", True)
    claude.hear(hook | {"subtype": "hook_response"}, 62.0)
    assert claude.stall_reason(63.0).cause == "network"


def test_a_nearly_full_context_is_warned_about_once() -> None:
    claude = in_a_turn()
    usage = {"input_tokens": 5, "cache_read_input_tokens": 83_000}
    claude.hear({"type": "stream_event", "event": {"type": "message_start", "message": {"usage": usage}}}, 1.0)
    ending = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
    metered = claude.hear({"type": "stream_event", "event": ending}, 2.0)
    assert metered[-1].fields["contextTokens"] == 83_012
    full = result(modelUsage={"m": {"contextWindow": 100_000}})
    said = claude.hear(full, 3.0)
    assert [one.phase for one in said] == ["metering", "warning", "completed"]
    assert said[1].fields["level"] == 0.8
    assert [one.phase for one in claude.hear(full, 4.0)] == ["metering", "completed"]


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({"api_error_status": 401}, "log in again"),
        ({"api_error_status": 429}, "unhang claude resume S"),
        ({"api_error_status": 404}, "--model"),
        ({"result": "Prompt is too long"}, "unhang claude resume S /compact"),
        ({"result": "No conversation found with session ID: S"}, "was not saved"),
        ({"terminal_reason": "api_error", "result": "Request timed out"}, "check the network"),
    ],
)
def test_errors_come_with_advice(more: dict[str, Any], hint: str) -> None:
    error = errors.error_json(result(is_error=True, terminal_reason="api_error") | more)
    assert any(hint in one for one in errors.suggestions(error, "S"))


def test_every_known_line_has_a_phase_that_readers_know() -> None:
    known = {
        "starting", "thinking", "running", "editing", "verifying", "metering", "idle", "compacting", "warning", None,
    }  # fmt: skip
    assert {phase for phase, _, _ in (*SYSTEM.values(), *OTHERS.values())} <= known


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
_LINES = [entry["line"] for name in recordings.names() for entry in recordings.load(name) if entry["from"] == "agent"]


@st.composite
def broken_lines(draw: st.DrawFn) -> dict[str, Any]:
    """A real line with something else in the place of one of its values, at any depth; or nonsense."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.dictionaries(st.sampled_from(["type", "subtype", "event", "message"]), _JSON, max_size=4))
    line: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(_LINES))))
    place: Any = line
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return line
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
            place = place[key]
        else:
            place[key] = draw(_JSON)
            return line


@settings(deadline=None)
@given(st.lists(broken_lines(), max_size=12))
def test_broken_lines_never_break_the_adapter(lines: list[dict[str, Any]]) -> None:
    claude = ClaudeStream()
    claude.begin(0.0)
    said: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        for one in claude.hear(line, float(number)):
            told = one.to_json()
            json.dumps(told)
            said.append({"type": "agent"} | told)
        assert claude.stall_reason(float(number)).reason
        assert claude.silent(float(number)) >= 0.0
        claude.tools.ages(float(number))
    report(said)


@settings(deadline=None)
@given(st.lists(st.sampled_from(_LINES), max_size=40))
def test_whatever_the_order_a_window_is_open_exactly_while_a_call_is(lines: list[dict[str, Any]]) -> None:
    claude = ClaudeStream()
    claude.begin(0.0)
    window: float | None = None
    for number, line in enumerate(lines):
        for one in claude.hear(line, float(number)):
            if one.windowed:
                window = one.window
        assert window == claude.tools.window
        assert (window is None) == (not claude.tools.ages(float(number)))
