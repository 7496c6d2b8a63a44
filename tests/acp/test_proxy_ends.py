"""How an agent behind the proxy ends, by whichever side; and the terminals that the proxy answers for."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.acp.editor import Editor, Open
from tests.support.engine import actor
from tests.support.jobs import Jobs
from unhang.testing.liveness import Process, RollCall

# --- the deaths -------------------------------------------------------------------------------------------------------


def daemon(editor: Editor, roll: RollCall) -> Process:
    """The agent's tree gets a member that went into a session of its own and ignores SIGTERM."""
    assert editor.turn("child:" + json.dumps(actor("double_fork", roll.path))) == "end_turn"
    return roll.wait_for("member")


def test_an_editor_that_goes_away_ends_the_whole_tree(editors: Open, roll: RollCall) -> None:
    editor = editors("--grace", "0.5")
    daemon(editor, roll)
    editor.prompt("deaf")
    editor.drop()
    assert roll.wait_empty()
    assert editor.process.wait(30) is not None


def test_an_editor_that_is_only_deaf_ends_the_whole_tree(editors: Open, roll: RollCall) -> None:
    """It reads no more, but holds our input open: the kernel tells that nobody is at the other end."""
    editor = editors("--grace", "0.5")
    daemon(editor, roll)
    assert editor.process.stdout is not None
    editor.process.stdout.close()
    assert roll.wait_empty()


def test_a_proxy_that_is_killed_ends_the_whole_tree(editors: Open, roll: RollCall) -> None:
    editor = editors("--grace", "0.5")
    daemon(editor, roll)
    editor.process.kill()
    assert roll.wait_empty()


def test_an_agent_whose_keeper_is_killed_is_ended_and_its_requests_are_answered(
    editors: Open, jobs: Jobs, roll: RollCall
) -> None:
    editor = editors("--grace", "0.5")
    daemon(editor, roll)
    turn = editor.prompt("hang")
    os.kill(jobs.handle(jobs.job().id).spec["keeper"]["pid"], signal.SIGKILL)
    assert editor.answer(turn)["error"]["code"] == -32603
    assert roll.wait_empty()
    assert editor.close() == 125


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_whole_tree_of_the_agent_by_sigterm_before_sigkill(
    editors: Open, jobs: Jobs, roll: RollCall, number: signal.Signals
) -> None:
    editor = editors("--grace", "0.5")
    daemon(editor, roll)
    editor.process.send_signal(number)
    assert roll.wait_empty()
    assert editor.process.wait(30) == 128 + number
    steps = [event["step"] for event in jobs.handle(jobs.job().id).events() if event["type"] == "signal"]
    assert steps == ["terminate", "kill"]


def test_an_agent_that_stays_after_its_input_has_ended_is_ended(jobs: Jobs, roll: RollCall, tmp_path: Path) -> None:
    argv = jobs.command("acp", "proxy", "--grace", "0.5", "--", *actor("ignore_term", roll.path))
    editor = Editor(argv, jobs.env, tmp_path)
    roll.wait_for("leader")
    assert editor.close() == 130, "cancelled"
    assert roll.is_empty()


def test_the_agent_is_a_job_that_ps_lists_and_that_ends_with_the_proxy(editors: Open, jobs: Jobs) -> None:
    editor = editors()
    (row,) = jobs.said("ps")
    assert row["labels"] == {"acp": "proxy"}
    assert "puppet_agent.py" in row["command"]
    assert editor.close() == 0
    assert jobs.handle(row["jobId"]).ended(), "when the proxy is gone, so is everything"


# --- our own terminals ------------------------------------------------------------------------------------------------


def test_terminals_are_offered_and_answered_here(editors: Open) -> None:
    editor = editors("--terminals")
    offered = next(m for m in editor.heard if "result" in m and "offered" in m["result"])["result"]["offered"]
    assert offered["clientCapabilities"]["terminal"] is True
    assert offered["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert editor.turn("run:" + json.dumps(["sh", "-c", "echo out; echo err >&2; exit 3"])) == "end_turn"
    got = json.loads(editor.texts()[-1])
    assert (got["output"], got["exitStatus"]) == ("out\nerr\n", {"exitCode": 3, "signal": None})
    assert not [m for m in editor.heard if str(m.get("method", "")).startswith("terminal/")], "the editor saw nothing"
    assert editor.turn("run:" + json.dumps([" "])) == "end_turn"
    assert json.loads(editor.texts()[-1])["error"]["code"] == -32602
    assert editor.close() == 0


def test_the_proxy_needs_no_sdk(editors: Open, jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "poison").mkdir()
    (tmp_path / "poison" / "acp.py").write_text("raise SystemExit('the SDK was imported')")
    jobs.env["PYTHONPATH"] = str(tmp_path / "poison")
    editor = editors("--terminals")
    assert editor.turn("run:" + json.dumps(["echo", "without"])) == "end_turn"
    assert json.loads(editor.texts()[-1])["output"] == "without\n"
    assert editor.close() == 0


def test_terminals_of_ours_end_with_the_editor(editors: Open, roll: RollCall, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text('{"version": "1.0", "extends": "built-in", "grace_sec": 0.3}')
    editor = editors("--terminals", "--policy", str(policy), "--grace", "0.5")
    editor.prompt("run:" + json.dumps(actor("ignore_term", roll.path)))
    roll.wait_for("leader")
    editor.process.kill()
    assert roll.wait_empty()


def test_terminals_of_a_session_end_when_it_is_closed(editors: Open, roll: RollCall) -> None:
    editor = editors("--terminals", "--grace", "30")
    editor.prompt("run:" + json.dumps(actor("obedient", roll.path)))
    roll.wait_for("leader")
    editor.ask("session/close", sessionId="s1")
    assert roll.wait_empty()
    assert editor.close() == 0


def test_without_the_option_requests_for_terminals_reach_the_editor(editors: Open) -> None:
    editor = editors()
    editor.prompt("run:" + json.dumps(["true"]))
    ask = editor.until(lambda m: m.get("method") == "terminal/create")
    assert ask["params"]["command"] == "true"
    assert editor.process.poll() is None
