"""What becomes of a hook's payload, whatever is in it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.places import ROOT
from unhang.core import events as ev
from unhang.core.session_events import HOOK, PHASES
from unhang.sessions.claude.hooks import event_of

NAMES = (
    *("session_id", "transcript_path", "cwd", "hook_event_name", "tool_name", "tool_input", "tool_use_id", "agent_id"),
    *("notification_type", "source", "reason", "error", "is_interrupt", "duration_ms", "background_tasks", "message"),
    *("prompt", "tool_response", "last_assistant_message"),
)
METHODS = ("PreToolUse", "PostToolUseFailure", "UserPromptSubmit", "Notification", "Stop", "StopFailure", "SessionEnd")
LONG = st.text(min_size=300, max_size=400).map(lambda text: text * 20)
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | LONG
VALUE = st.recursive(LEAF, lambda below: st.lists(below) | st.dictionaries(st.text() | LONG, below), max_leaves=20)
PAYLOAD = st.dictionaries(st.sampled_from(NAMES), VALUE) | st.dictionaries(st.text(), VALUE)
ENVIRON = st.dictionaries(
    st.sampled_from(["CLAUDE_PID", "TMUX", "TMUX_PANE", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SESSION_ID"]),
    st.text(max_size=100),
)


# As Claude Code 2.1.325 answers for a command that has not ended within its own timeout.
MOVED = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b8q4xjxzy", "timedOutAfterMs": 3000}


@given(payload=PAYLOAD, environ=ENVIRON, method=st.none() | st.sampled_from(METHODS))
def test_any_payload_becomes_one_event_that_fits_a_line(
    payload: dict[str, Any], environ: dict[str, str], method: str | None
) -> None:
    given = payload | ({"hook_event_name": method} if method else {})
    event = event_of(given, environ, "123")
    assert event["type"] == "hook"
    assert event["phase"] in PHASES[HOOK]
    assert event["message"]
    assert event["message"].isprintable()
    assert len(event["message"]) <= 300
    line = ev.to_line({"seq": 10**9, "ts": "2026-01-01T00:00:00.000Z"} | event)
    assert len(line) <= ev.MAX_LINE
    back = ev.from_line(line)
    assert back is not None
    assert back["type"] == "hook", "cut so that it need not be elided"


@pytest.mark.parametrize("letter", ["x", "ä", "漢", "\U0001f600", '"', "\\", "\n"])
def test_the_longest_of_everything_fits_a_line(letter: str) -> None:
    long = letter * 5000
    given: dict[str, Any] = dict.fromkeys(NAMES, long)
    given |= {"tool_input": {long: [long] * 100, "command": long}, "background_tasks": [{"id": long, "b": long}] * 50}
    environ = dict.fromkeys(("TMUX", "TMUX_PANE", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SESSION_ID"), long)
    event = event_of(given, environ, "1" * 20)
    line = ev.to_line({"seq": 10**9, "ts": "2026-01-01T00:00:00.000Z"} | event)
    back = ev.from_line(line)
    assert back is not None
    assert back["type"] == "hook"
    assert len(back["backgroundTasks"]) == 10


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "true", "null", '"3"'])
def test_a_duration_that_is_no_number_is_left_out(number: str) -> None:
    payload = json.loads(f'{{"duration_ms": {number}, "tool_input": {{"timeout": {number}}}}}')
    event = event_of(payload, {})
    assert "durationMs" not in event
    assert json.loads(ev.to_line(event), parse_constant=pytest.fail)


def test_a_command_that_was_moved_to_the_background_is_told_from_one_that_was_started_there_or_has_ended() -> None:
    def event(response: Any) -> dict[str, Any]:
        return event_of({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": response}, {})

    assert event(MOVED)["movedAfterMs"] == 3000
    started, ended = MOVED.copy(), MOVED.copy()
    del started["timedOutAfterMs"], ended["backgroundTaskId"]
    for response in (started, ended, None, "moved", {"backgroundTaskId": 5, "timedOutAfterMs": "3"}):
        assert "movedAfterMs" not in event(response), response


@given(secret=st.text(alphabet="abcdefgh", min_size=12, max_size=12))
def test_prompts_replies_and_contents_of_files_are_not_in_the_event(secret: str) -> None:
    payload = {
        "hook_event_name": "PostToolUse",
        "prompt": secret,
        "tool_response": {"stdout": secret},
        "last_assistant_message": secret,
        "tool_input": {"content": secret, "edits": [{"new_string": secret}], "old_string": secret, "prompt": secret},
    }
    assert secret not in repr(event_of(payload, {}))


@pytest.mark.parametrize(
    ("environ", "attended"),
    [
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, True),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False),
        ({}, True),
    ],
)
def test_the_event_says_whether_the_session_is_attended(environ: dict[str, str], attended: bool) -> None:
    assert event_of({}, environ)["attended"] is attended


@pytest.mark.parametrize("pid", ["", "x", "-1", "1" * 20, "１２"])
def test_a_pid_that_is_no_number_is_null(pid: str) -> None:
    assert event_of({}, {"CLAUDE_PID": pid})["pid"] is None


def test_every_phase_and_field_is_documented() -> None:
    text = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    everything = {"hook_event_name": "PreToolUse", "tool_input": {}, "is_interrupt": True, "duration_ms": 1}
    everything |= {"background_tasks": [], "agent_id": "a", "notification_type": "n", "source": "s", "reason": "r"}
    everything |= {"error": "e", "session_id": "s", "transcript_path": "t", "cwd": "c", "tool_name": "n"}
    everything |= {"tool_use_id": "t", "tool_response": MOVED}
    fields = set(event_of(everything, {})) - {"type"}
    assert {name for name in (*fields, *PHASES[HOOK]) if f"`{name}`" not in text} == set()
    assert re.search(r"UNHANG_WATCH=off", text)
