"""Turns that Codex itself gives up: in its own words, with an exit code, and with what to do."""

from __future__ import annotations

import json

import pytest

from tests.support.codex.harness import PATIENT, Bench


@pytest.mark.parametrize(
    ("scenario", "info", "words"),
    [
        ("429", "responseTooManyFailedAttempts", "429 Too Many Requests"),
        ("500", "internalServerError", "high demand"),
        ("401", "httpConnectionFailed", "401 Unauthorized"),
        ("drop_mid", "other", "stream disconnected"),
    ],
)
def test_an_error_of_the_service_fails_the_turn(bench: Bench, scenario: str, info: str, words: str) -> None:
    turn = bench.turn(f"[[{scenario}]]", *PATIENT, record=f"error-{scenario.replace('_', '-')}")
    assert turn.code == 1
    assert turn.result["status"] == "error"
    assert words in turn.about["error"]["message"]
    assert turn.about["error"]["info"] == info
    assert words in turn.result["stderr"]
    assert turn.phases[-1] == "failed"
    assert "unknown" not in turn.phases


def test_a_passing_error_is_a_warning_and_no_failure(bench: Bench) -> None:
    turn = bench.turn("[[http:500:1]]", *PATIENT, record="error-passing")
    assert turn.code == 0
    assert turn.said("reconnects", "warning")
    assert turn.about["error"] is None


def test_an_overflowing_context_suggests_to_recover_and_that_works(bench: Bench) -> None:
    turn = bench.turn("[[ctx]]", *PATIENT, record="overflow")
    assert turn.code == 1
    assert turn.about["error"]["info"] == "contextWindowExceeded"
    (hint,) = turn.result["recovery"]["suggestions"]
    assert f"unhang codex recover {turn.job.id} --prompt" in hint
    done = bench.codex("recover", turn.job.id, "--prompt", "a shorter task", "--wait", *PATIENT, record="recover")
    assert done.code == 0, done.err
    assert done.out == b"pong\n"
    assert b"The context was compacted" in done.err
    asked = [request["input"][-1] for request in bench.fake.requests]
    assert "CONTEXT CHECKPOINT COMPACTION" in str(asked[-2])
    assert "a shorter task" in str(asked[-1])


def test_recovering_a_running_job_cancels_it_first(bench: Bench) -> None:
    from tests.support.engine import wait_until

    job = bench.begun("[[hang]]", *PATIENT, "--grace", "10")
    wait_until(lambda: len(bench.fake.requests), "the model is asked")
    done = bench.codex("recover", job.id, "--prompt", "something else", "--wait", "--json", *PATIENT)
    assert done.code == 0, done.err
    assert job.result().status == "cancelled"


def test_a_job_without_a_thread_cannot_be_recovered(bench: Bench) -> None:
    job = bench.begin("--", "true")
    job.wait(30)
    assert "no Codex thread" in bench.refused("codex", "recover", job.id, "--prompt", "x", code=2)


def test_two_that_start_at_once_in_a_new_home_both_work(bench: Bench) -> None:
    """One of them dies on Codex's own database (two app servers alone: eight times of eight), and is started again."""
    words = ("codex", "run", "[[text:hello]]", *PATIENT, "--wait", "--json")
    both = [bench.popen(*words, cwd=bench.workspace) for _ in range(2)]
    results = [json.loads(bench.finish(process, 110).out) for process in both]
    assert [result["status"] for result in results] == ["success"] * 2, [result["stderr"] for result in results]


def test_a_codex_that_dies_while_it_starts_is_started_again_and_its_words_are_in_the_error(bench: Bench) -> None:
    program = bench.folder / "codex"
    program.write_text("#!/bin/sh\necho 'database is locked' >&2; exit 1\n")
    program.chmod(0o755)
    turn = bench.turn("hello", *PATIENT, "--codex", str(program))
    assert (turn.code, turn.result["error"]["code"]) == (1, "EAGENT")
    assert all(part in turn.result["error"]["message"] for part in ("codex", turn.job.id, "database is locked"))
    assert len([event for event in turn.told if "started again" in event["message"]]) == 2
