"""Real agents behind the proxy, when something hangs: the model, and a command in a terminal of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.acp.editor import Editor
from tests.support.acp_agents import programs
from tests.support.engine import actor
from tests.support.fakes.acp_models import FakeModels
from tests.support.jobs import Jobs
from unhang.testing.liveness import RollCall


@pytest.fixture
def fake() -> Iterator[FakeModels]:
    with FakeModels() as fake:
        yield fake


def behind(jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str, *options: str) -> Editor:
    started = programs.start(name, tmp_path, fake)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    mine = {key: value for key, value in jobs.env.items() if key.startswith("UNHANG")}
    editor = Editor(jobs.command("acp", "proxy", *options, "--", *started.argv), started.env | mine, workspace)
    editor.begin()
    return editor


@pytest.mark.parametrize("name", ["claude", "gemini", "kimi"])
def test_a_model_that_never_answers_is_told_and_the_turn_is_cancelled(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    editor = behind(jobs, tmp_path, fake, name, "--stall", "2", "--idle", "15", "--grace", "20")
    try:
        assert editor.turn("[[hang]]") == "cancelled"
        notices = [text for text in editor.texts("agent_thought_chunk") if "[unhang]" in text]
        assert len(notices) == 1
        assert any("[unhang]" in text and "limit 15s" in text for text in editor.texts())
        assert editor.turn("[[text:and on it goes]]") == "end_turn", "the next turn is not hit"
        assert "and on it goes" in "".join(editor.texts())
        editor.close()
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()


def test_a_command_of_geminis_has_the_limit_of_a_tool_from_its_permission_on(
    jobs: Jobs, tmp_path: Path, fake: FakeModels
) -> None:
    """Gemini announces it by nothing else; without that it would have the limit of a silent model."""
    editor = behind(jobs, tmp_path, fake, "gemini", "--stall", "off", "--idle", "80", "--tool", "4", "--grace", "30")
    try:
        assert editor.turn("[[shell:sleep 1000]]") == "cancelled"
        assert any("[unhang]" in text and "limit 4s" in text for text in editor.texts())
        editor.close()
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()


def test_kimi_runs_its_commands_in_the_proxys_terminals(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, roll: RollCall
) -> None:
    policy = tmp_path / "policy.json"
    default = {"exec_timeout_sec": 3, "warn_sec": 0, "grace_sec": 0.3}
    policy.write_text(json.dumps({"version": "1.0", "categories": {"default": default}, "default_category": "default"}))
    editor = behind(jobs, tmp_path, fake, "kimi", "--terminals", "--policy", str(policy))
    try:
        assert editor.turn("[[shell:echo through-the-proxy]]") == "end_turn"
        assert "through-the-proxy" in fake.results[-1]
        line = " ".join(actor("double_fork", roll.path))
        assert editor.turn(f"[[shell:{line}]]") == "end_turn"
        # on a busy machine both limits may be due at the same look
        assert re.search(r"\((hard|idle) limit 3s\)", fake.results[-1]), "the model is told what ended it"
        assert roll.wait_empty()
        terminals = [row for row in jobs.said("ps", "--all") if row["labels"].get("acp") == "terminal"]
        assert len(terminals) == 2
        assert not [m for m in editor.heard if str(m.get("method", "")).startswith("terminal/")]
        editor.close()
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()
