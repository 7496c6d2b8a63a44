"""What Codex asks for is answered by a policy that a person chose, and recorded; it never waits for ever."""

from __future__ import annotations

from tests.support.codex.harness import PATIENT, Bench
from tests.support.engine import wait_until

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


def test_an_approval_can_be_given_by_a_person(bench: Bench) -> None:
    """And what was asked for then runs by its own limit, not by the idle limit."""
    task = f"[[escalate:sleep 9; touch {bench.workspace}/done]]"
    job = bench.begun(task, *ASKS, "--idle", "7", "--approvals", "ask")

    def waits() -> bool:
        return any(event.get("request") and event["phase"] == "needs_approval" for event in job.events())

    wait_until(waits, "the question")
    assert bench.call("send", job.id, "yes").code == 0
    assert job.wait(60).ok
    assert (bench.workspace / "done").exists()
    (answer,) = [event for event in job.events() if event.get("decision")]
    assert (answer["decision"], answer["by"]) == ("accepted", "answer")


def test_a_question_without_an_answer_is_denied(bench: Bench) -> None:
    task = f"[[escalate:touch {bench.workspace}/done]]"
    turn = bench.turn(task, *ASKS, "--approvals", "ask", "--approval-wait", "1")
    assert turn.code == 0
    assert "1s" in turn.about["approvals"][0]["by"]
    assert turn.about["approvals"][0]["decision"] == "denied"
    assert not (bench.workspace / "done").exists()
