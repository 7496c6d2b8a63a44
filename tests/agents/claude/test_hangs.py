"""Every way in which a headless Claude hangs or breaks: noticed, explained, ended whole."""

from __future__ import annotations

import json

import pytest

from tests.support.claude.harness import BASH, PATIENT, SHORT, Bench
from tests.support.engine import wait_until
from tests.support.history import teach
from tests.support.turn import steps
from unhang.procs import command_line, tree
from unhang.testing.liveness import Process

GENTLE = {"interrupt": True, "close": True}


@pytest.mark.parametrize("how", ["hang", "hang-headers", "hang-mid", "hang-tool", "ping-forever"])
def test_a_hanging_model_is_interrupted_and_explained(bench: Bench, how: str) -> None:
    turn = bench.turn(f"fake: {how}", *SHORT, record=how)
    assert turn.code == 124, turn.result
    result = turn.result
    assert (result["status"], result["timeoutReason"]) == ("timeout", "no_output_timeout")
    assert result["error"]["code"] == "EIDLE"
    assert result["terminationMode"] == "soft"
    assert result["error"]["survivors"] == []
    assert "network" in turn.stall_causes  # a slow start is a stall, too
    assert (result["diagnosis"]["state"], result["diagnosis"]["cause"]) == ("hung", "network")
    assert any(turn.about["sessionId"] in hint for hint in result["recovery"]["suggestions"])
    assert turn.steps() == GENTLE
    assert {step["step"]: step["done"] for step in turn.about["ladder"]} == GENTLE
    assert turn.about["terminalReason"] == "aborted_streaming"
    assert turn.about["isError"] is True
    assert "unknown" not in turn.phases
    # the service saw its client go; with pings it may notice only at the next one
    if how != "ping-forever":
        bench.fake.wait_gone(how)


def test_a_hang_is_ended_by_the_drivers_verdict(bench: Bench) -> None:
    words = ("--idle", "90", "--hard", "100", "--stall", "2", "--warn", "1", "--grace", "10", "--on-hung", "end")
    turn = bench.turn("fake: hang", *words)
    assert (turn.code, turn.result["timeoutReason"]) == (124, "no_output_timeout")
    assert turn.result["diagnosis"]["reason"].startswith("Claude has had nothing from the model")
    assert turn.result["error"]["idleMs"] < 80_000, "it has not waited for the limit"
    assert turn.steps() == GENTLE


@pytest.mark.slow
def test_the_history_of_its_runs_limits_a_claude_and_tells_of_a_slow_one(bench: Bench) -> None:
    teach(str(bench.home), "claude run", 1.0, 20.0, cwd=str(bench.workspace))
    job = bench.begun("fake: hang", "--idle", "auto", "--hard", "100")
    assert job.view().limits["idleMs"]["source"].startswith("history: ")
    slow = next(event for event in job.watch(timeout=60) if event["phase"] == "slow")
    assert slow["runs"] == 12
    job.cancel()
    assert job.result().status == "cancelled"


def test_a_hung_mcp_tool_is_named_when_it_is_stuck(bench: Bench) -> None:
    """Claude reports tokens after the call: what it is at is the call."""
    # a reason takes two looks: a starved keeper has to have the time for both
    words = ("--mcp-config", bench.slow_mcp(), "--allowed-tools", "mcp__slow", "--stall", "6")
    job = bench.begun("fake: tool mcp__slow__hang {}", *words, *PATIENT)
    told = job.watch(timeout=100)
    next(event for event in told if event.get("tool") == "mcp__slow__hang")
    stuck = next(event for event in told if event["phase"] == "stuck")
    assert stuck["type"] == "watchdog", "what its processes do is for the keeper to see"
    assert "slow/hang" in stuck["diagnosis"]["reason"]
    view = job.view()
    assert (view.phase, (view.doing or {})["tool"]) == ("stuck", "mcp__slow__hang")
    job.cancel()


def test_a_timeout_is_tried_again_where_asked_and_said_in_the_drivers_words(bench: Bench) -> None:
    """Claude listens on a socket of its own: the kernel alone would show a server that never ends."""
    # the first attempt has the time to start on a loaded machine, or its model would never be asked
    done = bench.claude("run", "fake: hang", "--wait", "--idle", "12", "--hard", "100", "--grace", "10", "--retry", "1")
    assert done.code == 124, done.err
    told = done.err.decode()
    assert "trying again with longer limits" in told
    assert "try: go on with the same session: unhang claude resume" in told
    assert "it is a server" not in told
    assert len({seen.text for seen in bench.fake.requests if seen.verb == "hang"}) == 1
    assert len([seen for seen in bench.fake.requests if seen.verb == "hang"]) == 2


def test_retries_are_warnings_and_no_progress(bench: Bench) -> None:
    bench.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
    turn = bench.turn("fake: status 529", *PATIENT, record="error-529")
    assert turn.code == 1, turn.result
    assert turn.found("warning", httpStatus=529)
    assert (turn.about["isError"], turn.about["terminalReason"]) == (True, "api_error")
    assert turn.about["error"]["httpStatus"] == 529
    assert any("overloaded" in hint for hint in turn.result["recovery"]["suggestions"])
    assert "try: go on with the same session" in turn.result["stderr"]


def test_retries_for_ever_end_as_a_stall_with_the_cause_in_words(bench: Bench) -> None:
    bench.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:1"  # nobody listens there
    turn = bench.turn("hello", *SHORT, record="retries")
    assert turn.code == 124, turn.result
    assert turn.found("warning", retries=1)
    assert (turn.result["diagnosis"]["state"], turn.result["diagnosis"]["cause"]) == ("hung", "network")
    assert turn.steps() == GENTLE


def test_a_refused_request_is_a_failure_whatever_the_subtype_says(bench: Bench) -> None:
    """Claude calls it a success, with is_error."""
    turn = bench.turn("fake: status 400", *PATIENT, record="error-400")
    assert turn.code == 1
    assert turn.result["status"] == "error"
    assert turn.about["isError"] is True
    assert turn.about["error"] == {
        "message": "API Error: 400 fake error 400",
        "info": "invalid_request_error",
        "httpStatus": 400,
    }
    assert "API Error: 400" in turn.result["stderr"]
    assert turn.result["stdout"] == ""


def test_a_hung_command_is_ended_with_its_children(bench: Bench) -> None:
    line = "tail -f /dev/null & tail -f /dev/null"
    turn = bench.turn(f"fake: bash {line}", *BASH, *PATIENT, "--tool-limit", "4", record="tool-hang")
    assert turn.code == 124, turn.result
    (tool,) = turn.found("stopping")["tools"]
    assert (tool["tool"], tool["what"]) == ("Bash", line)
    assert tool["ageMs"] >= 4000
    assert turn.steps() == GENTLE
    assert turn.about["terminalReason"] == "aborted_tools"
    assert turn.result["leaked"] is False
    assert bench.left_over() == []


def test_a_hung_mcp_tool_is_interrupted(bench: Bench) -> None:
    words = ("--mcp-config", bench.slow_mcp(), "--allowed-tools", "mcp__slow")
    turn = bench.turn("fake: tool mcp__slow__hang {}", *words, *PATIENT, "--tool-limit", "4", record="mcp-hang")
    assert turn.code == 124, turn.result
    assert [tool["tool"] for tool in turn.found("stopping")["tools"]] == ["mcp__slow__hang"]
    assert turn.steps() == GENTLE
    assert turn.about["terminalReason"] == "aborted_tools"


def test_a_hung_agent_in_the_background_is_noticed_and_ended(bench: Bench) -> None:
    """Claude's own turn is over: an interruption would not reach it."""
    inner = "fake: bash exec tail -f /dev/null"
    call = {"description": "sub", "prompt": inner, "subagent_type": "general-purpose"}
    words = ("--allowed-tools", "Bash,Task", *PATIENT, "--tool-limit", "4")
    turn = bench.turn(f"fake: tool Task {json.dumps(call)}", *words)
    assert turn.code == 124, turn.result
    assert "Bash has been running for" in turn.about["cause"]
    assert "interrupt" not in turn.steps()
    assert turn.result["error"]["survivors"] == []
    assert turn.result["terminationMode"] == "soft"


def test_a_hung_hook_is_named(bench: Bench) -> None:
    hook = {"type": "command", "command": "exec tail -f /dev/null", "timeout": 600}
    settings = bench.config / "settings.json"
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    turn = bench.turn("hello", *SHORT, record="hook-hang")
    assert turn.code == 124, turn.result
    assert "a hook of Claude Code's has been running" in turn.about["cause"]
    assert "UserPromptSubmit" in turn.about["cause"]
    assert turn.result["error"]["survivors"] == []


def test_cancel_interrupts_by_the_protocol_and_no_signal_is_needed(bench: Bench) -> None:
    job = bench.begun("fake: bash exec tail -f /dev/null", *BASH, *PATIENT)
    driver = wait_until(lambda: job.view().pid, "the driver")

    def command() -> int | None:
        for pid in _below(driver):
            if command_line.of(pid, 200) == "tail -f /dev/null":
                return pid
        return None

    bash = Process(wait_until(command, "the command runs"), "the command")
    done = bench.call("cancel", job.id)
    assert job.result().status == "cancelled", done.err
    assert bash.wait_gone()
    assert steps(job.events()) == GENTLE
    aborted = [event["terminalReason"] for event in job.events() if "terminalReason" in event]
    assert aborted == ["aborted_tools"]
    assert [event for event in job.events() if event.get("method") == "result/error_during_execution"]


def _below(pid: int) -> list[int]:
    found = tree.children(pid)
    return [*found, *(deeper for child in found for deeper in _below(child))]


def test_a_killed_claude_fails_the_job_and_the_session_can_be_resumed(bench: Bench) -> None:
    job = bench.begun("fake: bash exec tail -f /dev/null", *BASH, *PATIENT)
    wait_until(lambda: any("Running: exec tail" in e["message"] for e in job.events()), "the command is told")
    driver = job.view().pid
    assert driver is not None
    wait_until(lambda: any(command_line.of(p, 200) == "tail -f /dev/null" for p in _below(driver)), "it runs")
    # Claude tells of a call before its session is in its file: one that is killed in between has nothing to resume
    wait_until(lambda: bench.saved('"type":"tool_use"'), "the session is saved")
    (claude,) = tree.children(driver)
    assert Process(claude).send(9)
    result = job.wait(60)
    assert (result.status, result.exit_code) == ("error", 1)
    assert "SIGKILL" in result.stderr
    assert result.to_json()["leaked"] is True, "the command outlives its Claude; it is ended and named"
    session = next(e["sessionId"] for e in job.events() if e.get("sessionId"))
    again = bench.turn("go on", *PATIENT, "--resume", session, record="resume-after-kill")
    assert (again.code, again.about["sessionId"]) == (0, session), again.result


def test_a_claude_that_ignores_everything_is_killed(bench: Bench) -> None:
    """A stopped one answers no request and no signal of its driver.

    What ends it then is either the keeper's SIGKILL, or the kernel: it continues a stopped process whose group is
    orphaned by the driver's exit, and the signals that waited are delivered.
    """
    job = bench.begun("fake: hang", "--idle", "90", "--hard", "100", "--grace", "3")
    bench.fake.wait_for(lambda seen: seen.verb == "hang", "the model is asked")
    driver = job.view().pid
    assert driver is not None
    (claude,) = tree.children(driver)
    stopped = Process(claude)
    assert stopped.send(19)
    bench.call("cancel", job.id)
    assert stopped.wait_gone()
    assert job.result().status == "cancelled"
    taken = steps(job.events())
    assert {taken.get(step) for step in ("interrupt", "close", "SIGINT", "SIGTERM")} == {False}


def test_a_killed_driver_leaves_nothing(bench: Bench) -> None:
    job = bench.begun("fake: bash exec tail -f /dev/null", *BASH, *PATIENT)
    wait_until(lambda: any("Running: exec tail" in e["message"] for e in job.events()), "the command is told")
    driver = job.view().pid
    assert driver is not None
    assert Process(driver).send(9)
    result = job.wait(60)
    assert (result.status, result.signal) == ("error", "SIGKILL")
    assert bench.left_over() == []
