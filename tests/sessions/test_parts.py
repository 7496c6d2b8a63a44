"""The parts around the machine: settings, status files, the past, transcripts, resuming, the screen."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from hypothesis import settings as examples

from unhang.errors import UsageError
from unhang.procs import clock, identity
from unhang.sessions import settings
from unhang.sessions.claude import fact_reader, resume, status_file, transcript
from unhang.sessions.state import facts, screen
from unhang.sessions.state.budget import Budget
from unhang.sessions.state.limits import SessionLimits, tool_limit
from unhang.sessions.state.machine import Session
from unhang.sessions.tmux.client import Address

ME = os.getpid()
START = identity.start_time(ME) or ""

# --- settings -------------------------------------------------------------------------------------------------


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "watch.toml"
    text = 'turn = "1h"\napi = 300\nallow_clear = true\nper_session = 3\nnotify = "cat"\n'
    path.write_text(text + '[limits]\n"mcp__slow__*" = "off"\n')
    found = settings.load({}, str(path))
    assert found.limits.turn == 3600
    assert found.limits.api == 300
    assert found.limits.of_tool("mcp__slow__x", {}) is None
    assert (found.limits.allow_clear, found.limits.per_session, found.notify) == (True, 3, "cat")


def test_the_users_file_is_found_and_one_that_others_may_write_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "unhang"
    folder.mkdir()
    (folder / "watch.json").write_text('{"turn": "1h"}')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert settings.load(environ).limits.turn == 3600
    (folder / "watch.json").chmod(0o666)
    refused = settings.load(environ)
    assert (refused.source, refused.untrusted) == ("built-in", str(folder / "watch.json"))
    assert refused.untrusted in refused.complaint


@pytest.mark.parametrize(
    "text",
    ["turn = true", "trun = 5", 'turn = "soon"', "limits = 3", "escapes = -1", "allow_clear = 1", "x", "notify = 1"],
)
def test_a_doubtful_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "watch.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"watch\.toml"):
        settings.load({}, str(path))


def test_a_limit_of_a_tool_is_read_from_pattern_and_duration() -> None:
    assert tool_limit("mcp__slow__*=5m") == ("mcp__slow__*", 300)
    assert tool_limit("a=b=off") == ("a=b", None)
    for wrong in ("WebFetch", "=5m", "WebFetch=x"):
        with pytest.raises(UsageError):
            tool_limit(wrong)


# --- status files ---------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@examples(deadline=None)
@given(st.dictionaries(st.sampled_from(["pid", "procStart", "sessionId", "status", "statusUpdatedAt"]), anything))
def test_any_status_file_can_be_read(value: dict[str, Any]) -> None:
    found = status_file.parse(value, 7)
    assert found is None or (found.pid == 7 and found.start.isdecimal())


def test_keys_beside_the_status_files_are_passed_over() -> None:
    assert status_file.pid_of("123.json") == 123
    for name in ("123.abc.key", "abc.json", ".json", "123", "-1.json", "99999999999999.json"):
        assert status_file.pid_of(name) == 0


def test_the_address_of_a_pane_is_read_from_the_variables_of_tmux() -> None:
    assert Address.of("/tmp/a,b,12,0", "%3") == Address("/tmp/a,b", 12, "%3")
    for tmux, pane in (("", ""), ("x,1,2", "%1"), ("/tmp/s,1,0", "1"), ("/tmp/s", "%1"), ("/tmp/s,x,0", "%1")):
        assert Address.of(tmux, pane) is None


# --- the past, and clocks -------------------------------------------------------------------------------------


def status(*, started: float, busy_since: float) -> status_file.StatusFile:
    value = {"pid": ME, "procStart": START, "sessionId": "s", "status": "busy", "entrypoint": "cli"}
    value |= {"startedAt": started * 1000, "statusUpdatedAt": busy_since * 1000}
    found = status_file.parse(value, ME)
    assert found is not None
    return found


def hook(method: str, at: float, **more: Any) -> dict[str, Any]:
    return {"type": "hook", "method": method, "ts": clock.rfc3339(at)} | more


def told(events: list[dict[str, Any]], found: status_file.StatusFile) -> Session:
    machine = Session(SessionLimits(), Budget(9), clock.monotonic() - 100_000)
    for fact in fact_reader.facts_so_far(events, found, clock.monotonic() - 100_000):
        machine.tell(fact)
    return machine


def began() -> float:
    """The wall-clock time at which this process began, if nobody has set the clock since."""
    return time.time() - identity.age(START)


def test_a_call_that_was_open_before_we_came_has_its_true_age() -> None:
    now = time.time()
    events = [
        hook("PreToolUse", now - 900, toolName="WebFetch", toolUseId="old"),  # interrupted; no hook says so
        hook("UserPromptSubmit", now - 600),
        hook("PreToolUse", now - 500, toolName="WebSearch", toolUseId="x"),
        hook("UserPromptSubmit", now - 400),  # queued
    ]
    view = told(events, status(started=began(), busy_since=now - 600)).view(clock.monotonic())
    (call,) = view["calls"]
    assert call["toolUseId"] == "x"
    assert 499_000 < call["ageMs"] < 520_000


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 1e9])
def test_a_clock_that_was_set_since_the_session_began_counts_for_nothing(jump: float) -> None:
    """The start of the session by the wall and by the kernel disagree: what is old by the wall alone is not."""
    now = time.time()
    events = [hook("PreToolUse", now - 5000, toolName="WebFetch", toolUseId="x")]
    machine = told(events, status(started=began() - jump, busy_since=now - 5000))
    (call,) = machine.view(clock.monotonic())["calls"]
    assert call["ageMs"] < 20_000
    assert not [said for said in machine.wake(clock.monotonic()) if getattr(said, "phase", "") == "warning"]


@given(
    st.lists(st.dictionaries(st.sampled_from(["method", "ts", "toolInput", "backgroundTasks", "agentId"]), anything))
)
def test_any_recorded_events_can_be_told_to_a_session(events: list[dict[str, Any]]) -> None:
    told(events, status(started=began(), busy_since=time.time()))


# --- transcripts ----------------------------------------------------------------------------------------------


def test_only_what_the_model_or_a_tool_wrote_is_growth(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"type":"assistant"}\n')
    found = transcript.Transcript()
    found.follow(str(path))
    assert found.grew()[0] is False  # the first look
    for line, expected in (
        ('{"type":"queue-operation","operation":"enqueue"}', False),
        ('{"type":"assistant","message":{}}', True),
        ('{"type":"user","toolUseResult":{}}', True),
        ('{"type":"system","subtype":"api_error"}', False),
    ):
        with path.open("a") as file:
            file.write(line + "\n")
        assert found.grew()[0] is expected
        assert found.grew()[0] is False
    path.unlink()
    assert found.grew()[0] is False


# --- resuming -------------------------------------------------------------------------------------------------


def test_a_session_is_resumed_with_its_options_and_without_its_prompt() -> None:
    argv = ["claude", "--model", "opus", "do this", "--resume", "old", "--settings=x.json", "-c", "--verbose", "again"]
    assert resume.resume_argv(argv, "new") == [
        "claude",
        "--resume",
        "new",
        "--model",
        "opus",
        "--settings=x.json",
        "--verbose",
    ]


# --- the screen -----------------------------------------------------------------------------------------------

RULE = "─" * 30


def shown(box: str, footer: str = "  ⏸ manual mode on", above: str = "") -> screen.AgentScreen:
    return screen.read(f"● text\n{above}\n{RULE}\n{box}\n{RULE}\n{footer}\n")


def test_a_screen_is_read_as_prompt_dialog_draft_and_state() -> None:
    assert shown("❯\u00a0").kind == screen.PROMPT
    assert shown("❯ ", "  ⏸ manual mode on · esc to interrupt").busy
    assert shown("❯ ", "  -- INSERT -- ⏸ manual mode on").insert
    assert shown("❯ ", above="✻ Waiting for 1 background agent to finish").background
    assert shown("❯ ", above="· Shimmying… (5s · ↓ 1.2k tokens)").tokens == "1.2k"
    assert shown("❯ fake: hang").draft == "fake: hang"
    assert shown("❯ one\n  two").draft == "one\ntwo"
    assert shown("❯ \x1b[7mP\x1b[0m\x1b[2mress up to edit queued messages\x1b[0m").draft == ""
    assert shown('❯ \x1b[2mTry "edit this"\x1b[0m').draft == ""
    assert shown("❯ \x1b[38;5;2mcoloured\x1b[39m").draft == "coloured"
    assert screen.read("Do you want to?\n ❯ 1. Yes\n   2. No\n Esc to cancel").kind == screen.DIALOG
    assert screen.read("$ ls\nREADME.md\n$ ").kind == screen.UNKNOWN
    assert screen.read("").kind == screen.UNKNOWN


def test_a_command_of_a_persons_own_is_told_from_a_turn() -> None:
    assert shown("❯ ", above="! make\n  ⎿  Running…").shell
    assert shown("❯ ", above="● text\n! make\n  ⎿  line 4\n     line 5\n     +3 lines (7s)").shell
    assert not shown("❯ ", above="! make\n  ⎿  done\n\n✻ Brewing… (3s · ↓ 1 tokens)").shell
    assert not shown("❯ ", above="! make\n  ⎿  done\n● pong\n✻ Crunched for 16s · done 11:44 PM").shell
    assert not shown("❯ ", above="● Fetch(http://x)\n· Shimmying… (5s)").shell


def test_facts_are_values() -> None:
    assert facts.Pane() == facts.Pane(screen=screen.AgentScreen())
    assert json.dumps(SessionLimits().to_dict())
