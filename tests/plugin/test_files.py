"""What is in the plugin, without Claude: hooks, wrappers, and every command line in its texts."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import ROOT
from tests.support.plugin.places import (
    AGENTS,
    COMMANDS,
    HOOK,
    MCP,
    MONITOR,
    PLUGIN,
    SKILLS,
    program,
    with_unhang,
    without_unhang,
)
from unhang.faces.cli import main as cli
from unhang.faces.cli.command_module import load
from unhang.faces.cli.parser import parser_of
from unhang.installers import claude_code

NAMES = {"run", "events", "status", "result", "cancel", "diagnose", "rescue", "compact", "review", "adversarial-review"}


def front(file: Path) -> dict[str, str]:
    """The front matter; one line a key here."""
    _, head, _ = file.read_text().split("---\n", 2)
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}


def calls() -> list[tuple[str, str]]:
    """Every call of unhang in a block of shell or between backticks."""
    found: list[tuple[str, str]] = []
    for file in (*COMMANDS, *AGENTS, *SKILLS, PLUGIN / "README.md"):
        text = file.read_text()
        blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
        lines = [line.strip() for block in blocks for line in block.splitlines()]
        spans = re.findall(r"`(unhang [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.S).replace("\n  ", " "))
        found += [(file.name, " ".join(line.split())) for line in (*lines, *spans) if line.startswith("unhang ")]
    return found


def test_all_commands_are_there_and_described() -> None:
    assert {file.stem for file in COMMANDS} == NAMES
    for file in COMMANDS:
        head = front(file)
        assert head["description"]
        assert head["allowed-tools"] == "Bash(unhang:*)", "what its calls need, and nothing else"
        assert "$ARGUMENTS" in file.read_text()
    (agent,) = AGENTS
    assert front(agent)["name"] == "codex-rescue"


@pytest.mark.parametrize(("file", "line"), calls())
def test_every_call_in_the_texts_can_be_parsed(file: str, line: str) -> None:
    words = shlex.split(line)[1:]
    assert words[0] in cli.COMMANDS, file
    if "--" in words:
        words = words[: words.index("--")]
    parser_of(words[0], load(cli.COMMANDS[words[0]]), "").parse(words[1:])


def test_the_texts_hold_calls_of_every_kind() -> None:
    """Or the test above would check nothing."""
    kinds = {tuple(line.split()[1:3]) if line.split()[1] == "codex" else line.split()[1] for _, line in calls()}
    assert kinds >= {"run", "start", "events", "status", "result", "cancel", "diagnose", "send", "extend", "wait", "ps"}
    assert {kind[1] for kind in kinds if isinstance(kind, tuple)} >= {"run", "resume", "review", "compact", "recover"}


def test_rescue_is_in_the_background_and_polls_from_a_cursor() -> None:
    lines = [line for file, line in calls() if file == "rescue.md"]
    (start,) = [line for line in lines if line.startswith("unhang codex run")]
    assert "--wait" not in start
    assert any(line.startswith("unhang events JOB --after-seq") for line in lines)


def test_the_hooks_are_those_of_unhang_claude_install() -> None:
    found = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert found == claude_code.hooks('"${CLAUDE_PLUGIN_ROOT}"/hooks/unhang-hook')
    asked = "PreToolUse PostToolUse PostToolUseFailure PermissionRequest UserPromptSubmit Stop StopFailure"
    asked += " SubagentStart SubagentStop SessionStart SessionEnd Notification"
    asked += " PostToolBatch"  # nothing else tells of the end of a call that was refused
    assert set(found) == set(asked.split())


def test_plugin_and_marketplace_have_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    market: dict[str, Any] = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert plugin["version"] == version
    assert market["metadata"]["version"] == version
    assert [entry["version"] for entry in market["plugins"]] == [version]


def test_the_skill_says_when_to_use_what() -> None:
    (skill,) = SKILLS
    assert front(skill)["name"] == skill.parent.name
    assert len(front(skill)["description"]) < 1024, "what Claude Code takes"
    used = {line.split()[1] for file, line in calls() if file == skill.name}
    assert used >= {"run", "start", "wait", "send", "extend", "cancel", "diagnose", "result", "ps"}


# --- the wrappers -------------------------------------------------------------------------------------------


def call(file: Path, path: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": path, "HOME": str(home), "UNHANG_HOME": str(home / "state"), "UNHANG_WATCH": "off"}
    return subprocess.run([str(file)], env=env, input="{}", capture_output=True, text=True, check=False, timeout=60)


def test_without_unhang_a_hook_is_silent_and_exits_with_0(tmp_path: Path) -> None:
    done = call(HOOK, without_unhang(tmp_path / "bin"), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_unhang_the_first_session_says_so_once_where_the_user_sees_it(tmp_path: Path) -> None:
    env = {
        "PATH": without_unhang(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "CLAUDE_PLUGIN_DATA": str(tmp_path / "data"),
    }

    def start(method: str) -> str:
        given = json.dumps({"session_id": "abc-1", "hook_event_name": method})
        done = subprocess.run([str(HOOK)], env=env, input=given, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    assert start("PreToolUse") == ""
    assert "pip install unhang" in json.loads(start("SessionStart"))["systemMessage"]
    assert start("SessionStart") == ""


def test_with_a_python_without_unhang_a_hook_is_silent_and_exits_with_0(tmp_path: Path) -> None:
    path = without_unhang(tmp_path / "bin")
    program(tmp_path / "bin", "python3", "#!/bin/sh\necho 'No module named unhang' >&2\nexit 1\n")
    done = call(HOOK, path, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("code", [1, 2, 125])
def test_an_unhang_that_fails_does_not_block_the_session(tmp_path: Path, code: int) -> None:
    """Claude takes exit code 2 for a veto, and words on stdout for a decision."""
    path = without_unhang(tmp_path / "bin")
    program(tmp_path / "bin", "unhang", f"#!/bin/sh\necho 'no such command: hook'\nexit {code}\n")
    done = call(HOOK, path, tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_unhang_is_found_in_the_usual_place_beside_the_path(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program(tmp_path / ".local" / "bin", "unhang", f'#!/bin/sh\necho "$@" >> {seen}\n')
    path = without_unhang(tmp_path / "bin")
    assert call(HOOK, path, tmp_path).returncode == 0
    assert call(MCP, path, tmp_path).returncode == 0
    assert seen.read_text() == "hook\nmcp\n"


def test_without_unhang_on_the_path_python_runs_its_module(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    path = without_unhang(tmp_path / "bin")
    program(tmp_path / "bin", "python3", f'#!/bin/sh\necho "$@" >> {seen}\n')
    assert call(HOOK, path, tmp_path).returncode == 0
    assert call(MCP, path, tmp_path).returncode == 0
    assert (
        seen.read_text()
        == "-E -P -c import unhang\n-E -P -m unhang hook\n-E -P -c import unhang\n-E -P -m unhang mcp\n"
    )


def test_a_missing_server_is_one_line_that_names_the_package(tmp_path: Path) -> None:
    done = call(MCP, without_unhang(tmp_path / "bin"), tmp_path)
    assert done.returncode == 127
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "pip install unhang" in line


def test_the_wrapper_reaches_the_real_hook(tmp_path: Path) -> None:
    path = with_unhang(tmp_path / "bin")
    env = {"PATH": path, "HOME": str(tmp_path), "UNHANG_HOME": str(tmp_path / "state"), "UNHANG_WATCH": "off"}
    given = json.dumps({"session_id": "abc-1", "hook_event_name": "Stop"})
    done = subprocess.run([str(HOOK)], env=env, input=given, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    note = tmp_path / "state" / "sessions" / "abc-1" / "context.json"
    note.write_text('{"toolu_1": "unhang ended it"}')
    given = given.replace("Stop", "UserPromptSubmit")
    done = subprocess.run([str(HOOK)], env=env, input=given, capture_output=True, text=True, check=False, timeout=60)
    assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == "unhang ended it"
    event, _ = (tmp_path / "state" / "sessions" / "abc-1" / "events.ndjson").read_text().splitlines()
    assert json.loads(event)["method"] == "Stop"


def test_the_monitor_waits_in_silence_without_unhang_and_ends_with_the_session(tmp_path: Path) -> None:
    """One that ended sooner would be announced to the model."""
    (monitor,) = json.loads((PLUGIN / "monitors" / "monitors.json").read_text())
    assert monitor["command"].endswith(f"/{MONITOR.parent.name}/{MONITOR.name}")
    session = subprocess.Popen(["sleep", "600"])
    env = {"PATH": without_unhang(tmp_path / "bin"), "HOME": str(tmp_path), "CLAUDE_PID": str(session.pid)}
    script = MONITOR.read_text().replace("sleep 30", "sleep 0.1")
    waits = subprocess.Popen([program(tmp_path, "monitor", script)], env=env, stdout=subprocess.PIPE)
    session.kill()
    session.wait(30)
    said, _ = waits.communicate(timeout=60)
    assert (waits.returncode, said) == (0, b"")
