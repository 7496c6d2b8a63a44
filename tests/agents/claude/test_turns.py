"""Tasks for the real Claude Code that go as they should, and what is seen of them."""

from __future__ import annotations

import json

from tests.support.claude.harness import BASH, PATIENT, Bench

CORE = ["starting", "thinking", "metering", "completed"]


def test_a_task_succeeds_and_is_told_from_its_start_to_its_end(bench: Bench) -> None:
    turn = bench.turn("hello", *PATIENT, record="success")
    assert turn.code == 0, turn.result
    assert turn.result["status"] == "success"
    assert turn.result["stdout"] == "pong\n"
    assert "unknown" not in turn.phases
    assert [phase for phase in CORE if phase in turn.phases] == CORE
    found = turn.about
    assert (found["result"], found["isError"], found["terminalReason"]) == ("pong", False, "completed")
    assert (found["error"], found["numTurns"], found["permissionDenials"]) == (None, 1, [])
    assert found["sessionId"]
    assert found["claudeVersion"] == "2.1.325"
    assert found["costUsd"] > 0
    assert found["usage"] == {"contextTokens": 18, "contextWindow": 1000000, "occupancy": 0.0, "totalTokens": 18}
    assert turn.told[-1]["phase"] == "completed"
    assert turn.events[-1]["type"] == "job/exited"
    assert turn.job.spec["labels"]["agent"] == "claude"
    assert turn.result["limits"]["idleMs"]["source"] == "argument"


def test_the_job_id_is_printed_and_the_events_tell_the_rest(bench: Bench) -> None:
    job = bench.begun("hello")
    assert job.wait(60).ok
    after = job.events()[2]["seq"]
    lines = bench.call("events", job.id, "--after-seq", after, "--json").out.decode().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(after + 1, after + 1 + len(events)))
    assert [e["phase"] for e in events if e["type"] == "agent"][-1] == "completed"
    result = bench.said("result", job.id)
    assert result["limits"]["idleMs"] == {"value": 300000, "source": "policy:agent-write"}
    assert (result["claude"]["result"], result["claude"]["isError"]) == ("pong", False)
    assert bench.said("status", job.id)["claude"]["sessionId"] == result["claude"]["sessionId"]


def test_a_tool_has_its_own_limit_while_it_runs(bench: Bench) -> None:
    """It is silent for longer than the idle limit: that limit is for the model."""
    turn = bench.turn("fake: bash echo one; sleep 17; echo two", *BASH, "--idle", "15", "--hard", "100", record="tool")
    assert turn.code == 0, turn.result
    began = turn.said("Running: echo one", "running")
    assert (began["tool"], began["command"]) == ("Bash", "echo one; sleep 17; echo two")
    done = turn.said("^Done: echo one")
    assert done["toolUseId"] == began["toolUseId"]
    assert turn.result["stdout"] == "pong after tool: one\ntwo\n"
    assert "unknown" not in turn.phases


def test_a_tool_that_fails_is_told_and_the_task_goes_on(bench: Bench) -> None:
    turn = bench.turn("fake: bash echo oops; exit 3", *BASH, *PATIENT, record="tool-failed")
    assert turn.code == 0, turn.result
    failed = turn.said("^Failed: echo oops")
    assert failed["failed"] is True
    assert "Exit code 3" in failed["message"]
    assert turn.about["isError"] is False


def test_a_tool_without_permission_is_denied_and_named(bench: Bench) -> None:
    turn = bench.turn("fake: bash touch there", *PATIENT, record="denied")
    assert turn.code == 0, turn.result
    assert turn.found("warning", denied="Bash")
    assert turn.about["permissionDenials"] == ["Bash"]
    assert not (bench.workspace / "there").exists()


def test_a_slow_reply_is_alive_with_every_delta(bench: Bench) -> None:
    # the idle limit holds for the start of Claude Code, too, and is shorter than the reply
    turn = bench.turn("fake: drip 36 0.5", "--idle", "15", "--hard", "100", record="slow")
    assert turn.code == 0, turn.result
    previews = [event for event in turn.told if event["message"].startswith("Claude writes: word")]
    assert 2 <= len(previews) <= 1 + turn.result["durationMs"] / 2000, "one preview in two seconds, not one a delta"


def test_a_session_is_resumed_by_its_id_and_by_a_job(bench: Bench) -> None:
    first = bench.turn("my name is Ada", *PATIENT)
    session = first.about["sessionId"]
    done = bench.claude("resume", session, "second", "--wait", "--json", *PATIENT, record="resume")
    second = json.loads(done.out)
    assert (done.code, second["claude"]["sessionId"]) == (0, session)
    third = bench.turn("third", *PATIENT, "--resume", first.job.id)
    assert third.about["sessionId"] == session
    asked = json.dumps(bench.fake.requests[-1].body["messages"])
    assert all(word in asked for word in ("my name is Ada", "second", "third"))


def test_a_session_is_compacted_by_claudes_own_command(bench: Bench) -> None:
    """As the advice after a full context has it."""
    session = bench.turn("first", *PATIENT).about["sessionId"]
    done = bench.claude("resume", session, "/compact", "--wait", "--json", *PATIENT, record="compact")
    assert done.code == 0, done.out
    events = bench.handle(json.loads(done.out)["jobId"]).events()
    (compacted,) = [event for event in events if event.get("tokensBefore") is not None]
    assert (compacted["phase"], compacted["tokensBefore"]) == ("compacting", 18)


def test_an_unknown_session_fails_in_claudes_own_words(bench: Bench) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    turn = bench.turn("hello", *PATIENT, "--resume", nobody)
    assert turn.code == 1
    assert "No conversation found" in turn.result["stderr"]
    assert any("run its task again" in hint for hint in turn.about["suggestions"])
    assert turn.about["isError"] is not False


def test_several_results_of_one_task_and_the_last_one_counts(bench: Bench) -> None:
    """An agent in the background outlives the first turn: its end begins another one."""
    call = {"description": "sub", "prompt": "fake: bash echo sub; sleep 3", "subagent_type": "general-purpose"}
    task = f"fake: tool Task {json.dumps(call)}"
    turn = bench.turn(task, "--allowed-tools", "Bash,Task", *PATIENT, record="background-agent")
    assert turn.code == 0, turn.result
    assert turn.about["results"] == 2
    assert [event["isError"] for event in turn.told if "isError" in event] == [False, False]
    assert turn.said("Waiting for agents in the background: sub")
    assert turn.said("Another turn has started")
    assert "unknown" not in turn.phases
    assert turn.result["leaked"] is False


def test_a_command_left_in_the_background_does_not_hold_the_task_up(bench: Bench) -> None:
    """Claude itself would stay for ten minutes."""
    call = {"command": "echo there; tail -f /dev/null", "description": "a server", "run_in_background": True}
    task = f"fake: tool Bash {json.dumps(call)}"
    turn = bench.turn(task, *BASH, *PATIENT, "--linger", "1", record="background-command")
    assert turn.code == 0, turn.result
    assert turn.result["status"] == "success"
    assert turn.found("warning", leftovers=["a server"])


def test_a_command_that_claude_moves_to_the_background_does_not_hold_the_task_up(bench: Bench) -> None:
    """As it does with every command after its timeout."""
    bench.env["BASH_DEFAULT_TIMEOUT_MS"] = "2000"
    turn = bench.turn("fake: bash echo x; exec tail -f /dev/null", *BASH, *PATIENT, "--linger", "1")
    assert turn.code == 0, turn.result
    assert "moved to the background" in turn.result["stdout"]
    assert turn.said("Ended with the task", "warning")


def test_model_directory_and_passed_on_words_reach_claude(bench: Bench) -> None:
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    words = ("--model", "claude-sonnet-5-5", "--cwd", elsewhere, *PATIENT, *BASH)
    turn = bench.turn("fake: bash pwd", *words, "--", "--append-system-prompt", "be brief, Claude")
    assert turn.result["stdout"] == f"pong after tool: {elsewhere}\n"
    request = bench.fake.requests[-1].body
    assert request["model"] == turn.about["model"] == "claude-sonnet-5-5"
    assert "be brief, Claude" in json.dumps(request["system"])


def test_a_long_task_and_a_long_result_are_whole(bench: Bench) -> None:
    task = bench.folder / "task"
    task.write_text("fake: say " + "x" * 200_000)
    with task.open("rb") as stdin:
        words = ("claude", "run", "-", "--wait", "--json", "--cwd", bench.workspace, *PATIENT)
        done = bench.call(*words, timeout=110, stdin=stdin)
    assert done.code == 0, done.out[-2000:]
    assert json.loads(done.out)["claude"]["result"].startswith("x" * 60_000)


def test_plan_mode_is_held_to_the_limits_of_reading(bench: Bench) -> None:
    turn = bench.turn("hello", "--permission-mode", "plan")
    assert turn.code == 0, turn.result
    assert turn.result["limits"]["idleMs"] == {"value": 120000, "source": "policy:agent-read-only"}
    assert turn.said("is ready")["permissionMode"] == "plan"


def test_without_json_the_reply_is_on_stdout_and_the_talk_on_stderr(bench: Bench) -> None:
    done = bench.claude("run", "fake: bash echo hi", "--wait", *BASH, *PATIENT)
    assert (done.code, done.out) == (0, b"pong after tool: hi\n")
    assert b"unhang: Running: echo hi\n" in done.err


def test_status_names_the_program_and_what_works(bench: Bench) -> None:
    found = bench.said("claude", "status")
    assert found["program"] == bench.env["UNHANG_CLAUDE"]
    assert found["version"] == "2.1.325"
    assert found["works"].startswith("run and resume")
    bench.env["UNHANG_CLAUDE"] = str(bench.folder / "nothing")
    missing = bench.call("claude", "status", "--json")
    assert missing.code == 1
    assert "npm install -g @anthropic-ai/claude-code" in json.loads(missing.out)["error"]


def test_mistakes_are_refused_in_one_line(bench: Bench) -> None:
    assert "task" in bench.refused("claude", "run", " ", code=2)
    assert "--output-format" in bench.refused("claude", "run", "hello", "--", "--output-format=text", code=2)
    assert "no such job" in bench.refused("claude", "resume", "nosuchjob", "hello", code=125)
    bench.env["UNHANG_CLAUDE"] = str(bench.folder / "nothing")
    assert "npm install -g @anthropic-ai/claude-code" in bench.refused("claude", "run", "hello", code=127)
