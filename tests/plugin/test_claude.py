"""The plugin in the real Claude Code: valid, installable from the repository, at work in a session."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import programs
from tests.support.claude.harness import BASH, PATIENT, Bench
from tests.support.codex.harness import configured
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.places import ROOT
from tests.support.plugin.places import COMMANDS, PLUGIN, with_unhang, without_unhang
from tests.support.turn import Turn
from unhang.store import find
from unhang.store.session_log import SessionLog


def claude(bench: Bench, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(programs.CLAUDE), *words],
        env=bench.env,
        cwd=bench.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def session(bench: Bench, task: str, *words: str) -> tuple[Turn, dict[str, Any]]:
    """A task in a headless session with the plugin; how it went, and what Claude said of itself at its start."""
    record = bench.folder / "record.ndjson"
    turn = bench.turn(task, *PATIENT, "--record", str(record), *words)
    lines = [json.loads(line)["line"] for line in record.read_text().splitlines()]
    return turn, next(line for line in lines if line.get("subtype") == "init")


def recorded(bench: Bench, turn: Turn) -> list[dict[str, Any]]:
    return SessionLog(turn.about["sessionId"], str(bench.home)).read()


@pytest.mark.parametrize("place", [ROOT, PLUGIN], ids=["marketplace", "plugin"])
def test_the_plugin_passes_strict_validation(bench: Bench, place: Path) -> None:
    done = claude(bench, "plugin", "validate", "--strict", str(place))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_is_installed_from_the_repository_with_commands_server_and_hooks(bench: Bench) -> None:
    bench.env["PATH"] = with_unhang(bench.folder / "bin")
    added = claude(bench, "plugin", "marketplace", "add", str(ROOT))
    assert added.returncode == 0, added.stdout + added.stderr
    installed = claude(bench, "plugin", "install", "unhang@unhang")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    turn, init = session(bench, "fake: bash echo hi", *BASH)
    assert turn.code == 0, turn.result
    # its commands and its agent are known
    assert {f"unhang:{file.stem}" for file in COMMANDS} <= set(init["slash_commands"])
    assert "unhang:codex-rescue" in init["agents"]
    # its server is connected
    servers = {server["name"]: server["status"] for server in init["mcp_servers"]}
    assert servers["plugin:unhang:unhang"] == "connected"
    # its hooks have told of the session
    told = [event["method"] for event in recorded(bench, turn)]
    assert told[0] == "SessionStart"
    assert told.index("UserPromptSubmit") < told.index("PreToolUse") < told.index("PostToolUse") < told.index("Stop")
    assert told[-1] == "SessionEnd"
    call = next(event for event in recorded(bench, turn) if event["method"] == "PreToolUse")
    assert (call["toolName"], call["attended"]) == ("Bash", False)


def test_a_command_expands_and_its_calls_need_no_further_permission(bench: Bench) -> None:
    bench.env["PATH"] = with_unhang(bench.folder / "bin")
    turn, _ = session(bench, "/unhang:status fake: bash unhang ps --all", "--", "--plugin-dir", str(PLUGIN))
    assert turn.code == 0, turn.result
    asked = bench.fake.requests[0]
    assert "unhang status JOB --json" in asked.text
    assert turn.about["permissionDenials"] == []
    assert turn.said("^Running: unhang ps --all")
    assert turn.said("^Done: unhang ps --all")
    assert turn.job.id in turn.result["stdout"], "the job that it runs in is listed"


def test_rescue_hands_a_task_to_the_real_codex_and_does_not_wait_for_it(bench: Bench) -> None:
    """Claude itself is in no job here, as in a person's terminal: the task goes on when the session has ended."""
    bench.env["PATH"] = with_unhang(bench.folder / "bin")
    bench.env["UNHANG_CODEX"] = programs.path_of(programs.CODEX)
    with FakeOpenAI() as model:
        bench.env |= configured(bench.folder / "codex-home", model.port)
        told = "unhang codex run 'say it' --sandbox read-only --label by=rescue"
        done = claude(bench, "-p", f"/unhang:rescue fake: bash {told}", "--plugin-dir", str(PLUGIN))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "unhang events JOB --after-seq 0" in bench.fake.requests[0].text
        job = bench.handle(done.stdout.split()[-1])
        assert job.spec["labels"]["by"] == "rescue"
        result = job.wait(100)
    assert (result.status, result.stdout) == ("success", "pong\n")
    seen = job.events()[-2]["seq"]
    looked = f"/unhang:events fake: bash unhang events {job.id} --after-seq {seen} --limit 100 --json"
    done = claude(bench, "-p", looked, "--plugin-dir", str(PLUGIN))
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"type":"job/exited"' in done.stdout.replace(" ", "")
    assert f'"seq":{seen},' not in done.stdout.replace(" ", "")


def call_in(command: str, verb: str) -> str:
    """The first call of this verb that the text of a command tells Claude to make, as one line."""
    text = (PLUGIN / "commands" / f"{command}.md").read_text()
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(f"unhang codex {verb}"))


def test_both_reviews_are_given_to_the_real_codex_as_the_texts_of_the_commands_say(bench: Bench) -> None:
    bench.env["PATH"] = with_unhang(bench.folder / "bin")
    bench.env["UNHANG_CODEX"] = programs.path_of(programs.CODEX)
    subprocess.run(["git", "init", "-q", bench.workspace], check=True)
    (bench.workspace / "new.py").write_text("print('new')\n")
    lines = [call_in(command, "review") for command in ("review", "adversarial-review")]
    script = [{"tools": [["Bash", {"command": line, "description": "review"}]]} for line in lines]
    with FakeOpenAI() as model:
        bench.env |= configured(bench.folder / "codex-home", model.port)
        asked = f"/unhang:adversarial-review fake: seq {json.dumps([*script, {'text': 'begun'}])}"
        done = claude(bench, "-p", asked, "--plugin-dir", str(PLUGIN))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "as an opponent" in bench.fake.requests[0].text
        jobs = [bench.handle(job_id) for job_id in find.all_ids(str(bench.home))]
        assert {job.spec["labels"]["by"] for job in jobs} == {"review", "adversarial-review"}
        assert [job.wait(100).status for job in jobs] == ["success", "success"]
        assert {job.spec["agent"]["plan"]["sandbox"] for job in jobs} == {"read-only"}
        told = sorted("as an opponent" in str(request) for request in model.requests)
        assert told == [False, True]


def test_the_server_of_the_plugin_answers_in_a_session(bench: Bench) -> None:
    bench.env["PATH"] = with_unhang(bench.folder / "bin")
    task = "fake: tool mcp__plugin_unhang_unhang__list {}"
    turn, _ = session(bench, task, "--allowed-tools", "mcp__plugin_unhang_unhang", "--", "--plugin-dir", str(PLUGIN))
    assert turn.code == 0, turn.result
    assert turn.said("^Done: ")
    assert turn.job.id in turn.result["stdout"]


def test_a_session_without_unhang_is_not_disturbed(bench: Bench) -> None:
    """unhang itself only drives this session; on Claude's own PATH there is none."""
    bench.env["PATH"] = without_unhang(bench.folder / "bin")
    turn, init = session(bench, "fake: bash echo hi", *BASH, "--", "--plugin-dir", str(PLUGIN))
    assert turn.code == 0, turn.result
    assert turn.result["stdout"] == "pong after tool: hi\n"
    assert turn.about["permissionDenials"] == []
    assert "unhang:status" in init["slash_commands"]
    assert recorded(bench, turn) == []


def test_hooks_in_the_settings_record_a_session_and_are_removed_again(bench: Bench) -> None:
    settings = bench.config / "settings.json"
    settings.write_text('{"model": "claude-opus-5-5"}')
    installed = bench.call("claude", "install", "--yes")
    assert installed.code == 0, installed.err
    turn, _ = session(bench, "fake: bash exit 3", *BASH)
    told = [event["method"] for event in recorded(bench, turn)]
    for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "Stop", "SessionEnd"):
        assert told.count(name) == 1, told
    assert bench.call("claude", "uninstall", "--yes").code == 0
    assert settings.read_text() == '{"model": "claude-opus-5-5"}'
