"""Real agents behind the proxy, when something hangs: the model, the agent itself, a command of its own or of ours."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.acp.editor import Editor
from tests.support.acp_agents import programs
from tests.support.engine import actor, wait_until
from tests.support.fakes.acp_models import FakeModels
from tests.support.jobs import Jobs
from unhang.procs import tree
from unhang.testing.liveness import Process, RollCall


@pytest.fixture
def fake() -> Iterator[FakeModels]:
    with FakeModels() as fake:
        yield fake


LAST_WORDS = "no room is left on the disk"


@contextmanager
def behind(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str, *options: str, launched: bool = False
) -> Iterator[Editor]:
    """An editor whose agent is behind the proxy: a program of the agent's name, as npm installs one.

    `launched`: Gemini and Qwen start themselves once more, as they do on a machine with more memory than Node takes.
    """
    started = programs.start(name, tmp_path, fake)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = tmp_path / name
    program.write_text(f"#!/bin/bash\necho '{LAST_WORDS}' >&2\nexec {shlex.join(started.argv)}\n")
    program.chmod(0o755)
    env = started.env | {key: value for key, value in jobs.env.items() if key.startswith("UNHANG")}
    if launched:
        env = {key: value for key, value in env.items() if not key.endswith("_NO_RELAUNCH")}
    editor = Editor(jobs.command("acp", "proxy", *options, "--", str(program)), env, workspace)
    try:
        editor.begin()
        yield editor
    finally:
        editor.drop()
        editor.process.kill()
        editor.process.wait()


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_model_that_never_answers_is_told_and_the_turn_is_cancelled(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    """Some listen or write files of their own meanwhile: that is no work, and no reason."""
    with behind(jobs, tmp_path, fake, name, "--stall", "2", "--idle", "15", "--grace", "20") as editor:
        assert editor.turn("[[hang]]") == "cancelled"
        (notice,) = [text for text in editor.texts("agent_thought_chunk") if "[unhang]" in text]
        assert "no tool is running" in notice
        assert any("[unhang]" in text and "limit 15s" in text for text in editor.texts())
        stalls = [event for event in jobs.handle(jobs.job().id).events() if event["phase"] in ("stuck", "quiet")]
        found = [(event["phase"], event["diagnosis"]["state"], event["diagnosis"]["cause"]) for event in stalls]
        assert found == [("stuck", "hung", "network")]
        assert editor.turn("[[text:and on it goes]]") == "end_turn", "the next turn is not hit"
        assert "and on it goes" in "".join(editor.texts())
        editor.close()


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen", "qwen, launched"])
def test_an_agent_that_dies_is_named_with_its_job_and_its_last_words(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    """A Qwen whose launcher has died says of its turn, as its last word, that it was cancelled."""
    name, _, launched = name.partition(", ")
    with behind(jobs, tmp_path, fake, name, launched=bool(launched)) as editor:
        prompt = editor.prompt("[[hang]]")
        wait_until(lambda: "hang" in fake.asked, "the model is asked", timeout=60)
        job = jobs.handle(jobs.job().id)
        assert Process(job.view().pid or 0).send(signal.SIGKILL)
        error = editor.answer(prompt)["error"]
        assert error["message"].startswith(f"unhang: {name} (job {job.id}) has ended: ")
        how, words = error["message"].split("; its last words on stderr: ")
        assert "SIGKILL" in how
        said = " ".join(job.tail("stderr", 10_000).split())
        assert LAST_WORDS in said
        assert said.endswith(words.removeprefix("…"))


def test_an_agent_that_is_stopped_below_its_launcher_is_called_so(jobs: Jobs, tmp_path: Path, fake: FakeModels) -> None:
    with behind(jobs, tmp_path, fake, "qwen", "--stall", "5", "--grace", "20", launched=True) as editor:
        prompt = editor.prompt("[[hang]]")
        wait_until(lambda: "hang" in fake.asked, "the model is asked", timeout=60)
        # the launcher's only child is Qwen itself: what Qwen starts for a moment is below that
        (agent,) = tree.children(jobs.handle(jobs.job().id).view().pid or 0)
        assert Process(agent).send(signal.SIGSTOP)
        # one that stalled before it was stopped has been told of already
        editor.until(lambda m: f"[{agent}]" in json.dumps(m), "a notice that names it")
        (notice,) = [text for text in editor.texts("agent_thought_chunk") if "[unhang]" in text]
        assert "stopped" in notice
        assert Process(agent).send(signal.SIGCONT)
        editor.cancel()
        assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"
        editor.close()


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_silent_command_has_the_limit_of_a_tool_and_is_named(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    """Gemini announces it by the permission alone; without that it would have the limit of a silent model."""
    with behind(jobs, tmp_path, fake, name, "--stall", "off", "--idle", "80", "--tool", "8", "--grace", "30") as editor:
        (editor.cwd / "silent.sh").write_text("exec tail -f /dev/null\n")  # Claude refuses a plain sleep
        assert editor.turn("[[shell:bash silent.sh]]") == "cancelled"
        (ending,) = [text for text in editor.texts() if "[unhang]" in text]
        assert "limit 8s" in ending
        assert "bash silent.sh" in ending
        editor.close()


@pytest.mark.parametrize("name", ["gemini", "kimi", "opencode"])
def test_a_silent_command_is_told_of_after_a_quarter_of_its_limit_and_not_after_the_stall_time(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, name: str
) -> None:
    """A command may well be quiet for a while; a model that is silent for so long is told of at once."""
    with behind(jobs, tmp_path, fake, name, "--stall", "1", "--idle", "80", "--tool", "32", "--grace", "30") as editor:
        (editor.cwd / "silent.sh").write_text("exec tail -f /dev/null\n")
        prompt = editor.prompt("[[shell:bash silent.sh]]")
        editor.until(lambda m: "silent.sh" in json.dumps(m) and "[unhang]" in json.dumps(m), "a notice that names it")
        job = jobs.handle(jobs.job().id)
        wait_until(lambda: any(e["phase"] == "stuck" for e in job.events()), "its keeper has heard of it", timeout=30)
        stuck = next(event for event in reversed(job.events()) if event["phase"] == "stuck")
        assert stuck["stallMs"] >= 8000
        assert "tail [" in stuck["diagnosis"]["reason"], "not what the agent itself waits for"
        editor.cancel()
        assert editor.answer(prompt)["result"]["stopReason"] == "cancelled"
        editor.close()


def test_kimi_runs_its_commands_in_the_proxys_terminals(
    jobs: Jobs, tmp_path: Path, fake: FakeModels, roll: RollCall
) -> None:
    policy = tmp_path / "policy.json"
    default = {"exec_timeout_sec": 3, "warn_sec": 0, "grace_sec": 0.3}
    policy.write_text(json.dumps({"version": "1.0", "categories": {"default": default}, "default_category": "default"}))
    with behind(jobs, tmp_path, fake, "kimi", "--terminals", "--policy", str(policy)) as editor:
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


def test_what_a_command_of_kimis_leaves_running_is_told_to_its_model(
    jobs: Jobs, tmp_path: Path, fake: FakeModels
) -> None:
    with behind(jobs, tmp_path, fake, "kimi", "--terminals") as editor:
        assert editor.turn("[[shell:sleep 1000 >/dev/null 2>&1 & echo started $!]]") == "end_turn"
        printed = re.search(r"started (\d+)", fake.results[-1])
        assert printed is not None, fake.results[-1]
        assert f"[{printed[1]}]" in fake.results[-1], "it would go on as if its server ran"
        editor.close()
