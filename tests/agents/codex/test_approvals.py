"""What Codex asks for is answered by a policy that a person chose, and recorded; it never waits for ever."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.support.codex.harness import PATIENT, Bench
from tests.support.engine import wait_until
from unhang.core import plain_text

ASKS = ("--ask-for-approval", "on-request", "--sandbox", "read-only", *PATIENT)


def test_an_approval_is_denied_and_recorded_by_default(bench: Bench) -> None:
    turn = bench.turn(f"[[escalate:touch {bench.workspace}/done]]", *ASKS, record="approval-denied")
    assert turn.code == 0
    (asked,) = turn.about["approvals"]
    assert asked["decision"] == "denied"
    assert asked["by"] == "policy"
    assert "touch" in asked["request"]
    assert turn.said("waits for an approval", "needs_approval")
    assert not (bench.workspace / "done").exists()


def test_an_approval_is_given_where_the_policy_says_so(bench: Bench) -> None:
    task = f"[[escalate:touch {bench.workspace}/done]]"
    turn = bench.turn(task, *ASKS, "--approvals", "accept", record="approval-accepted")
    assert turn.code == 0
    assert [asked["decision"] for asked in turn.about["approvals"]] == ["accepted"]
    assert (bench.workspace / "done").exists()


def test_an_escape_sequence_hides_no_part_of_a_command_that_asks_for_approval(bench: Bench) -> None:
    """A terminal shows nothing of what stands in the title sequence; the shell would run it."""
    turn = bench.turn("[[escalate:echo \x1b]0; touch hidden; echo \x07 done]]", *ASKS)
    (asked,) = turn.about["approvals"]
    assert "touch hidden" in plain_text.one_line(asked["request"], 300)
    assert plain_text.visible(asked["request"]) == asked["request"]


@pytest.mark.parametrize(("line", "decision"), [(0, "accepted"), (1, "denied")])
def test_a_person_answers_by_pasting_a_line_that_needs_prints(bench: Bench, line: int, decision: str) -> None:
    """And what was asked for and allowed then runs by its own limit, not by the idle limit."""
    task = f"[[escalate:sleep 14; touch {bench.workspace}/done]]"
    job = bench.begun(task, *ASKS, "--idle", "12", "--approvals", "ask")

    def waits() -> bool:
        return any(event.get("request") and event["phase"] == "needs_approval" for event in job.events())

    wait_until(waits, "the question")
    _, *lines = bench.call("needs").out.decode().splitlines()
    shell = f'unhang() {{ {shlex.quote(sys.executable)} -m unhang "$@"; }}\n{lines[line]}\n'
    pasted = subprocess.run(["bash", "-c", shell], env=bench.env, capture_output=True, text=True, check=False)
    assert (pasted.returncode, pasted.stderr) == (0, "")
    assert len(lines) == 2
    assert job.wait(60).ok
    (answer,) = [event for event in job.events() if event.get("decision")]
    assert (answer["decision"], answer["by"]) == (decision, "answer")
    assert (bench.workspace / "done").exists() == (decision == "accepted")


def test_a_question_without_an_answer_is_denied(bench: Bench) -> None:
    task = f"[[escalate:touch {bench.workspace}/done]]"
    turn = bench.turn(task, *ASKS, "--approvals", "ask", "--approval-wait", "1")
    assert turn.code == 0
    assert "1s" in turn.about["approvals"][0]["by"]
    assert turn.about["approvals"][0]["decision"] == "denied"
    assert not (bench.workspace / "done").exists()
