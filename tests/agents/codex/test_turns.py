"""Turns of the real Codex that go as they should, and what is seen of them."""

from __future__ import annotations

import json

from tests.support import programs
from tests.support.codex.harness import PATIENT, Bench

CORE = ["starting", "thinking", "metering", "idle", "completed"]
# The idle limit holds for the start of Codex, too: the time that it needs on a loaded machine.
SHORT = ("--idle", "12", "--hard", "100")


def test_a_turn_succeeds_and_is_told_from_its_start_to_its_end(bench: Bench) -> None:
    turn = bench.turn("hello", *PATIENT, record="success")
    assert turn.code == 0
    assert turn.result["status"] == "success"
    assert turn.result["stdout"] == "pong\n"
    assert "unknown" not in turn.phases
    assert [phase for phase in CORE if phase in turn.phases] == CORE
    assert turn.about["reply"] == "pong"
    assert turn.about["turnStatus"] == "completed"
    assert turn.about["error"] is None
    assert turn.about["threadId"]
    assert turn.about["codexVersion"] == "0.166.0"
    assert turn.said("Codex replied: pong")
    metering = turn.found("metering")
    assert (metering["contextTokens"], metering["contextWindow"]) == (120, 95000)
    assert turn.told[-1]["phase"] == "completed"
    assert turn.events[-1]["type"] == "job/exited"


def test_the_job_id_is_printed_and_the_events_tell_the_rest(bench: Bench) -> None:
    done = bench.codex("run", "hello", *PATIENT)
    assert done.code == 0
    assert done.out.decode().strip().isalnum()
    job = bench.handle(done.out.decode().strip())
    assert job.wait(60).ok
    after = job.events()[2]["seq"]
    lines = bench.call("events", job.id, "--after-seq", after, "--json").out.decode().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(after + 1, after + 1 + len(events)))
    assert [e["phase"] for e in events if e["type"] == "agent"][-1] == "completed"
    assert job.spec["labels"]["agent"] == "codex"


def test_a_command_has_its_own_limit_while_it_runs(bench: Bench) -> None:
    """It is silent for longer than the idle limit: that limit is for the model."""
    turn = bench.turn("[[shell:echo one; sleep 14; echo two]]", *SHORT, record="tool")
    assert turn.code == 0, turn.result
    began = turn.said("Running: echo one", "running")
    assert began["command"] == "echo one; sleep 14; echo two"
    assert turn.said("Exited with 0")["exitCode"] == 0
    assert turn.result["stdout"] == "done\n"
    assert "unknown" not in turn.phases


def test_a_slow_reply_is_alive_with_every_delta(bench: Bench) -> None:
    turn = bench.turn("[[slow:16]]", *SHORT, record="slow")
    assert turn.code == 0, turn.result
    previews = [event for event in turn.told if event["message"].startswith("Codex writes: x")]
    assert 2 <= len(previews) <= 1 + turn.result["durationMs"] / 2000, "one preview in two seconds, not one a delta"


def test_a_full_context_is_warned_about(bench: Bench) -> None:
    turn = bench.turn("[[usage:78000]]", *PATIENT, record="nearly-full")
    warning = turn.said("82% full", "warning")
    assert warning["level"] == 0.8
    assert turn.about["usage"]["occupancy"] == 0.8211
    more = bench.turn("[[usage:93000]]", *PATIENT, "--thread", turn.about["threadId"])
    assert more.code == 0
    assert more.about["threadId"] == turn.about["threadId"]
    assert more.found("warning", level=0.95)


def test_a_thread_is_resumed_by_id_and_by_job(bench: Bench) -> None:
    first = bench.turn("first", *PATIENT)
    thread = first.about["threadId"]
    done = bench.codex("resume", thread, "second", "--wait", "--json", *PATIENT, record="resume")
    assert json.loads(done.out)["codex"]["threadId"] == thread
    third = bench.turn("third", *PATIENT, "--resume", first.job.id)
    assert third.about["threadId"] == thread
    asked = json.dumps(bench.fake.requests[-1]["input"])
    assert all(word in asked for word in ("first", "second", "third"))


def test_an_unknown_thread_fails_in_codexs_own_words(bench: Bench) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    turn = bench.turn("hello", *PATIENT, "--thread", nobody)
    assert turn.code == 1
    assert "no rollout found" in turn.about["error"]["message"]
    assert "no rollout found" in turn.result["stderr"]
    assert turn.about["threadId"] == nobody


def test_model_effort_and_a_long_task_reach_codex(bench: Bench) -> None:
    task = bench.folder / "task"
    task.write_text("hello " + "x" * 200_000)
    with task.open("rb") as stdin:
        words = ("codex", "run", "-", "--wait", "--json", "--effort", "high", "--cd", bench.workspace, *PATIENT)
        done = bench.call(*words, timeout=110, stdin=stdin)
    assert done.code == 0, done.out[-2000:]
    request = bench.fake.requests[-1]
    assert request["reasoning"]["effort"] == "high"
    assert "x" * 200_000 in json.dumps(request["input"])


def test_a_review_is_a_turn(bench: Bench) -> None:
    done = bench.codex("review", "look for typos", "--wait", "--json", *PATIENT, record="review")
    assert done.code == 0, done.out[-2000:]
    shown = json.loads(done.out)
    phases = [event["phase"] for event in bench.handle(shown["jobId"]).events() if event["type"] == "agent"]
    assert "verifying" in phases
    assert "unknown" not in phases


def test_the_node_wrapper_is_driven_and_ended_like_the_program(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = programs.path_of(programs.CODEX_WRAPPER)
    assert bench.turn("hello", *PATIENT).code == 0
    hung = bench.turn("[[hang]]", *SHORT)
    assert hung.code == 124
    assert hung.steps()["close"]


def test_an_empty_task_is_a_mistake(bench: Bench) -> None:
    assert "task" in bench.refused("codex", "run", " ", code=2)


def test_a_program_that_is_not_there_is_said_at_once(bench: Bench) -> None:
    bench.env["UNHANG_CODEX"] = str(bench.folder / "nothing")
    line = bench.refused("codex", "run", "hello", code=127)
    assert "npm install -g @openai/codex" in line
