"""`unhang hook` as Claude Code calls it: a real process, a payload on stdin, and never a word or a failure."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli.hooks import ID, PAYLOAD, Hooks
from unhang.store.session_log import SessionLog
from unhang.testing.liveness import Process


def test_a_hook_is_recorded_with_everything_that_tells_where_it_came_from(hooks: Hooks) -> None:
    me = str(os.getpid())
    said = {"CLAUDE_PID": me, "CLAUDE_CONFIG_DIR": "/test/config", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    done = hooks.quiet(PAYLOAD, TMUX="/test/tmux,1,0", TMUX_PANE="%3", UNHANG_WATCH="off", **said)
    assert done.err == b""
    (event,) = hooks.recorded()
    assert (
        event
        | {
            "seq": 1,
            "type": "hook",
            "phase": "tool",
            "message": "Bash: npm test",
            "method": "PreToolUse",
            "sessionId": ID,
            "pid": os.getpid(),
            "cwd": "/test/work",
            "transcriptPath": "/test/projects/x.jsonl",
            "tmux": "/test/tmux,1,0",
            "pane": "%3",
            "configDir": "/test/config",
            "attended": True,
            "toolName": "Bash",
            "toolUseId": "toolu_01",
            "toolInput": PAYLOAD["tool_input"],
        }
        == event
    )
    with open("/proc/self/stat", encoding="utf-8") as file:
        assert event["procStart"] == file.read().rpartition(")")[2].split()[19]


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ({"hook_event_name": "Stop", "background_tasks": [{"id": "a", "status": "running"}]}, {"phase": "idle"}),
        ({"hook_event_name": "SessionEnd", "reason": "clear"}, {"phase": "ended", "reason": "clear"}),
        (
            {"hook_event_name": "Notification", "notification_type": "idle_prompt", "message": "waits"},
            {"phase": "notice", "notificationType": "idle_prompt", "message": "waits"},
        ),
        (
            {"hook_event_name": "PostToolUseFailure", "error": "Exit code 3\nhi", "is_interrupt": False}
            | {"duration_ms": 34},
            {"phase": "tool_failed", "error": "Exit code 3 hi", "isInterrupt": False, "durationMs": 34},
        ),
        ({"hook_event_name": "SomethingNew"}, {"phase": "other", "method": "SomethingNew"}),
        ({"hook_event_name": "PreToolUse", "agent_id": "ad2d"}, {"agentId": "ad2d"}),
    ],
    ids=lambda value: str(value.get("hook_event_name", "")) if isinstance(value, dict) else None,
)
def test_every_kind_of_hook_is_recorded_as_it_is(payload: dict[str, Any], wanted: dict[str, Any], hooks: Hooks) -> None:
    hooks.quiet({"session_id": ID} | payload)
    (event,) = hooks.recorded()
    assert event | wanted == event


def test_what_people_type_and_files_hold_is_not_recorded(hooks: Hooks) -> None:
    secret = "hunter2-" * 200
    hooks.quiet({"session_id": ID, "hook_event_name": "UserPromptSubmit", "prompt": secret})
    written = {"file_path": "/test/x", "content": secret, "edits": [{"new_string": secret}]}
    hooks.quiet(PAYLOAD | {"tool_name": "Write", "tool_input": written})
    hooks.quiet(PAYLOAD | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": secret}})
    hooks.quiet({"session_id": ID, "hook_event_name": "Stop", "last_assistant_message": secret})
    assert len(hooks.recorded()) == 4
    text = Path(SessionLog(ID, str(hooks.home)).path).read_text()
    assert "hunter2" not in text
    assert "(1600 characters)" in text
    assert os.stat(SessionLog(ID, str(hooks.home)).path).st_mode & 0o777 == 0o600


def test_a_long_command_is_cut_and_its_line_is_not_lost(hooks: Hooks) -> None:
    given = {"command": "ä\n" * 5000, "timeout": 1000, "more": {str(n): ["x" * 500] * 50 for n in range(50)}}
    hooks.quiet(PAYLOAD | {"tool_input": given, "cwd": "/" + "d" * 5000, "error": "e" * 5000})
    (event,) = hooks.recorded()
    assert event["type"] == "hook"
    assert event["toolUseId"] == "toolu_01"


GARBAGE = [b"", b"\0\xff", b"{", b"[]", b"null", b"[" * 200_000, b'"text"', b'{"session_id": 7}', b"NaN"]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_survived_and_recorded_where_its_session_is_known(data: bytes, hooks: Hooks) -> None:
    done = hooks.quiet(data)
    assert b"Traceback" not in done.err
    hooks.quiet(data, CLAUDE_CODE_SESSION_ID=ID)
    assert [event["method"] for event in hooks.recorded()] == ["unknown"]


@pytest.mark.parametrize("name", ["../../../tmp/x", "a/b", "", ".", "x" * 100])
def test_a_session_that_is_a_path_is_not_recorded(name: str, hooks: Hooks) -> None:
    done = hooks.quiet(PAYLOAD | {"session_id": name})
    assert b"session id" in done.err
    assert not (hooks.home / "sessions").exists()


def test_of_a_payload_that_is_cut_off_the_ends_are_still_understood(hooks: Hooks) -> None:
    hooks.quiet(json.dumps(PAYLOAD).encode()[:-1])
    (event,) = hooks.recorded()
    assert (event["method"], event["toolName"], event["toolUseId"]) == ("PreToolUse", "Bash", "toolu_01")


def test_of_a_payload_that_is_too_large_the_ends_are_still_understood(hooks: Hooks) -> None:
    """The end of a call must be seen whatever the tool gave back: an open call is ended as a hang."""
    large = {name: value for name, value in PAYLOAD.items() if name != "tool_use_id"}
    large |= {"hook_event_name": "PostToolUse", "tool_response": "x" * (12 << 20), "tool_use_id": "toolu_01"}
    hooks.quiet(large)
    (event,) = hooks.recorded()
    assert (event["method"], event["toolName"], event["toolUseId"]) == ("PostToolUse", "Bash", "toolu_01")


def begun(hooks: Hooks, stdin: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-m", "unhang", "hook"]
    process = subprocess.Popen(words, stdin=stdin, env=hooks.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    hooks._started.append(process)
    return process


def test_a_stdin_that_never_ends_is_not_waited_for(hooks: Hooks) -> None:
    reading, writing = os.pipe()
    process = begun(hooks, reading)
    os.write(writing, json.dumps(PAYLOAD).encode())  # and left open
    assert Process(process.pid).wait_gone(30)
    assert process.wait() == 0
    os.close(writing)
    os.close(reading)
    assert [event["toolUseId"] for event in hooks.recorded()] == ["toolu_01"]


def test_a_stdin_that_says_nothing_is_given_up(hooks: Hooks) -> None:
    reading, writing = os.pipe()
    process = begun(hooks, reading)
    assert Process(process.pid).wait_gone(30)
    assert process.wait() == 0
    os.close(writing)
    os.close(reading)


def test_what_comes_in_pieces_is_put_together(hooks: Hooks) -> None:
    """A machine under load: Claude gets to write now and then."""
    reading, writing = os.pipe()
    process = begun(hooks, reading)
    data = json.dumps(PAYLOAD | {"error": "}"}).encode()
    for at in range(0, len(data), 100):
        os.write(writing, data[at : at + 100])
        time.sleep(0.15)  # the pauses are what is tested
    os.close(writing)
    assert process.wait(30) == 0
    os.close(reading)
    assert [event["toolUseId"] for event in hooks.recorded()] == ["toolu_01"]


def test_a_flood_on_stdin_is_given_up_in_constant_memory(hooks: Hooks) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with open("/dev/zero", "rb") as flood:
        assert begun(hooks, flood.fileno()).wait(30) == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after <= max(before, 100 << 10)


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-", "</dev/full"])
def test_closed_descriptors_are_survived(closed: str, hooks: Hooks) -> None:
    line = f"{sys.executable} -P -m unhang hook {closed}"
    env = hooks.env | {"CLAUDE_CODE_SESSION_ID": ID}
    assert subprocess.run(["sh", "-c", line], env=env, timeout=60, check=False).returncode == 0
    assert len(hooks.recorded()) == 1


def test_a_home_that_cannot_be_used_is_survived(hooks: Hooks, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (str(tmp_path / "file"), str(tmp_path / "file" / "below"), "/proc/nothing", "/dev/full/x"):
        done = hooks.quiet(PAYLOAD, UNHANG_HOME=home, TMUX_PANE="%1")
        assert b"not recorded" in done.err
        assert b"Traceback" not in done.err


def test_a_home_of_another_user_is_refused_and_survived(hooks: Hooks) -> None:
    hooks.home.mkdir()
    hooks.home.chmod(0o777)
    assert b"others may write" in hooks.quiet(PAYLOAD, TMUX_PANE="%1").err
    assert list(hooks.home.iterdir()) == []


def test_a_full_disk_is_survived_and_tears_nothing(hooks: Hooks) -> None:
    """A limit on the size of files stands for the disk: a write stops in the middle of a line."""
    hooks.quiet(PAYLOAD)
    size = os.stat(SessionLog(ID, str(hooks.home)).path).st_size
    limited = f"ulimit -f 1; trap '' XFSZ; exec {sys.executable} -P -m unhang hook"
    for _ in range(8):  # 1 KiB is reached in the middle of one of these
        done = subprocess.run(
            ["bash", "-c", limited], input=json.dumps(PAYLOAD).encode(), env=hooks.env, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"")
    assert b"not recorded" in done.stderr
    events = hooks.recorded()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len(events) == 1024 // size
    hooks.quiet(PAYLOAD)
    assert len(hooks.recorded()) == len(events) + 1


def test_hooks_at_once_lose_nothing(hooks: Hooks) -> None:
    words = [sys.executable, "-P", "-m", "unhang", "hook"]
    running = [subprocess.Popen(words, stdin=subprocess.PIPE, env=hooks.env) for _ in range(12)]
    for number, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write(json.dumps(PAYLOAD | {"tool_use_id": f"toolu_{number}"}).encode())
        process.stdin.close()
    assert [process.wait(60) for process in running] == [0] * 12
    events = hooks.recorded()
    assert [event["seq"] for event in events] == list(range(1, 13))
    assert {event["toolUseId"] for event in events} == {f"toolu_{number}" for number in range(12)}


def test_it_loads_nothing_of_the_command_line(hooks: Hooks) -> None:
    code = "import sys, os; os._exit = lambda _: print(*sys.modules); sys.argv = ['unhang', 'hook'];"
    code += "from unhang.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(PAYLOAD).encode(),
        env=hooks.env | {"TMUX_PANE": "%1", "UNHANG_WATCH": "off"},
        capture_output=True,
        check=True,
    )
    loaded = set(done.stdout.decode().split())
    assert hooks.recorded()
    assert "unhang.store.session_log" in loaded
    heavy = {"argparse", "typing", "subprocess", "socket", "threading", "datetime", "unhang.faces.cli.main"}
    assert not loaded & heavy
