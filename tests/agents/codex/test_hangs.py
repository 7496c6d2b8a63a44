"""Every way in which Codex hangs: noticed, explained, ended whole."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest

from tests.support.codex.harness import PATIENT, Bench
from tests.support.engine import wait_until
from unhang.procs import command_line, tree
from unhang.testing.liveness import Process, RollCall

POLICY = """
version = "1.0"
extends = "built-in"
[categories.naps]
exec_timeout_sec = "30m"
no_output_timeout_sec = 4
[command_patterns]
naps = ["sleep"]
"""
# The idle limit holds for the start of Codex, too: the time that it needs on a loaded machine.
SHORT = ("--idle", "12", "--hard", "100", "--stall", "2", "--grace", "30")


def is_hung(event: dict[str, Any]) -> bool:
    """A slow start is a stall, too, and no hang."""
    return event["phase"] == "stuck" and (event.get("diagnosis") or {}).get("state") == "hung"


@pytest.mark.parametrize("how", ["hang", "hang_headers", "hang_mid", "trickle", "trickle_ev"])
def test_a_hanging_model_is_ended_gently_and_explained(bench: Bench, how: str) -> None:
    turn = bench.turn(f"[[{how}]]", *SHORT, record=how.replace("_", "-"))
    assert turn.code == 124
    result = turn.result
    assert (result["status"], result["timeoutReason"]) == ("timeout", "no_output_timeout")
    assert result["error"]["code"] == "EIDLE"
    assert result["terminationMode"] == "soft"
    assert result["error"]["survivors"] == []
    assert "network" in turn.stall_causes  # a slow start is a stall, too
    assert (result["diagnosis"]["state"], result["diagnosis"]["cause"]) == ("hung", "network")
    assert any(turn.about["threadId"] in hint for hint in result["recovery"]["suggestions"])
    assert turn.steps() == {"interrupt": True, "clean": True, "close": True}
    assert turn.about["turnStatus"] == "interrupted"


def test_a_hang_is_ended_by_the_drivers_verdict(bench: Bench) -> None:
    words = ("--idle", "90", "--hard", "100", "--stall", "2", "--warn", "1", "--grace", "10", "--on-hung", "end")
    turn = bench.turn("[[hang]]", *words)
    assert (turn.code, turn.result["timeoutReason"]) == (124, "no_output_timeout")
    assert turn.result["diagnosis"]["reason"].startswith("Codex has had nothing from the model")
    assert turn.result["error"]["idleMs"] < 60_000
    assert [event["type"] for event in turn.events if is_hung(event) or event["phase"] == "quiet"] == ["agent"]


def test_a_program_that_waits_for_the_models_next_line_is_no_hang(bench: Bench) -> None:
    """Codex gives its commands a terminal at which its model types, when it has thought."""
    bench.fake.plan("typed:cat", "hang")
    job = bench.begun("go on", *PATIENT, "--stall", "4", "--warn", "1", "--on-hung", "end")
    wait_until(lambda: len(bench.fake.requests) > 1, "the model is asked what to type")
    told = next(found for event in job.watch() if (found := event.get("diagnosis") or {}).get("cause") == "input")
    assert told["state"] == "unsure"
    assert "codex" in told["reason"]
    job.cancel()


def test_a_stopped_codex_is_called_stopped(bench: Bench) -> None:
    bench.env["UNHANG_STALL"] = "4"
    job = bench.begun("[[hang]]", "--idle", "60", "--hard", "90", "--grace", "4")
    assert job.view().limits["stallMs"] == {"value": 4000, "source": "environment"}
    driver = wait_until(lambda: job.view().pid, "the driver")

    def servers() -> list[int]:
        return [pid for pid in tree.children(driver) if "app-server" in command_line.of(pid, 4000)]

    (server,) = wait_until(servers, "the app server")
    stopped = Process(server)
    wait_until(lambda: len(bench.fake.requests), "the model is asked")
    assert stopped.send(signal.SIGSTOP)
    found = next(event["diagnosis"] for event in job.watch() if is_hung(event))
    assert (found["cause"], str(server) in found["reason"]) == ("stopped", True)
    job.cancel()
    assert bench.left_over() == []


def test_endless_reconnects_end_as_a_stall_with_the_cause_in_words(bench: Bench) -> None:
    bench.configure(1)  # nobody listens there
    turn = bench.turn("hello", "--idle", "12", "--hard", "100", "--grace", "10", record="reconnect")
    assert turn.code == 124
    assert turn.found("warning", willRetry=True)["reconnects"] == 1
    assert turn.result["diagnosis"]["cause"] == "network"
    assert "Connection failed" in turn.result["diagnosis"]["reason"]
    assert "keeps reconnecting" in turn.result["stderr"]
    assert turn.steps()["interrupt"]


def test_a_silent_command_is_ended_with_its_children(bench: Bench) -> None:
    with RollCall(bench.folder / "roll") as roll:
        line = f"exec 9>{roll.path}; sleep 1000 & echo $! child >&9; echo $$ shell >&9; sleep 1001"
        words = ("--idle", "90", "--hard", "100", "--tool-limit", "12", "--stall", "2", "--grace", "30")
        turn = bench.turn(f"[[shell:{line}]]", *words, record="tool-hang")
        assert turn.code == 124
        assert line[:60] in turn.about["cause"]
        reason = turn.result["diagnosis"]["reason"]
        assert reason.startswith(turn.about["cause"])
        assert re.search(r"; sleep \[\d+\]", reason), "what its processes wait for"
        began = turn.events.index(turn.said("^Running: ", "running"))
        stuck = next(event for event in turn.events[began:] if (event["type"], event["phase"]) == ("watchdog", "stuck"))
        assert "watches files" not in stuck["message"], "what Codex itself waits for is no reason"
        assert turn.steps() == {"interrupt": True, "clean": True, "close": True}
        assert {step["step"]: step["done"] for step in turn.about["ladder"]} == turn.steps()
        assert turn.result["error"]["survivors"] == []
        roll.wait_for("child")
        roll.wait_for("shell")
        assert roll.is_empty(), "neither of them, nor what they have started"


def test_a_stray_of_a_hung_command_is_ended_without_waiting_out_the_grace(bench: Bench) -> None:
    """It has left the group that Codex ends, and ignores SIGTERM; the grace is longer than this test may take."""
    with RollCall(bench.folder / "roll") as roll:
        stray = f"trap '' TERM; exec 9>{roll.path}; echo $$ stray >&9; while :; do sleep 1000; done\n"
        (bench.workspace / "stray.sh").write_text(stray)
        words = ("--idle", "90", "--hard", "100", "--tool-limit", "12", "--grace", "600")
        turn = bench.turn("[[shell:setsid sh stray.sh >/dev/null 2>&1 & sleep 1001]]", *words)
        assert (turn.code, turn.result["terminationMode"]) == (124, "hard")
        roll.wait_for("stray")
        assert roll.is_empty()


def test_the_limit_of_a_command_is_that_of_the_users_policy(bench: Bench) -> None:
    (bench.workspace / ".unhang.toml").write_text(POLICY)
    turn = bench.turn("[[shell:sleep 1000 & sleep 1001]]", "--idle", "90", "--hard", "100", "--grace", "10")
    assert (turn.code, turn.result["timeoutReason"]) == (124, "no_output_timeout")
    assert "sleep 1000 & sleep 1001" in turn.result["diagnosis"]["reason"]


def test_a_daemon_that_a_command_leaves_is_ended_and_named(bench: Bench) -> None:
    """The command ends when the daemon has left its group: Codex ends what is still in the group of a command."""
    (bench.workspace / "daemon.sh").write_text("echo here >gone; exec sleep 1002\n")
    line = "mkfifo gone; setsid sh daemon.sh >/dev/null 2>&1 & read -r where <gone; echo started"
    turn = bench.turn(f"[[shell:{line}]]", *PATIENT, record="daemon")
    assert turn.code == 0
    assert turn.result["leaked"] is True
    assert any(left["command"] in ("sleep 1002", "sh daemon.sh") for left in turn.events[-1]["leftovers"])


def test_cancel_climbs_the_same_ladder(bench: Bench) -> None:
    job = bench.begun("[[hang]]", *PATIENT, "--grace", "10")
    wait_until(lambda: len(bench.fake.requests), "the model is asked")
    done = bench.call("cancel", job.id)
    result = job.result()
    assert result.status == "cancelled", done.err
    steps = {event["step"]: event["done"] for event in job.events() if "step" in event and event["type"] == "agent"}
    assert steps == {"interrupt": True, "clean": True, "close": True}


def test_a_killed_codex_fails_the_job_and_the_thread_can_be_resumed(bench: Bench) -> None:
    job = bench.begun("[[hang]]", *PATIENT)
    wait_until(lambda: len(bench.fake.requests), "the model is asked")
    driver = job.view().pid
    assert driver is not None
    (server,) = [pid for pid in tree.children(driver) if "app-server" in command_line.of(pid, 4000)]
    assert Process(server).send(9)
    result = job.wait(60)
    assert (result.status, result.exit_code) == ("error", 1)
    assert "ended while in a turn" in result.stderr
    thread = next(e["threadId"] for e in job.events() if e.get("threadId"))
    again = bench.turn("go on", *PATIENT, "--thread", thread, record="resume-after-kill")
    assert again.code == 0
    assert again.about["threadId"] == thread


def test_a_killed_driver_leaves_nothing(bench: Bench) -> None:
    job = bench.begun("[[shell:sleep 1003 & sleep 1004]]", *PATIENT)
    wait_until(lambda: any("sleep 1004" in str(e.get("command")) for e in job.events()), "the command runs")
    driver = job.view().pid
    assert driver is not None
    assert Process(driver).send(9)
    result = job.wait(60)
    assert (result.status, result.signal) == ("error", "SIGKILL")
    assert bench.left_over() == []
