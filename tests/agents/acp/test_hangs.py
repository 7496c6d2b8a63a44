"""Every real agent, and every way in which it hangs: noticed, explained by the budget that it used up, ended whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.acp_agents import programs
from tests.support.acp_agents.harness import PATIENT, Bench
from tests.support.engine import wait_until
from tests.support.turn import Turn
from unhang.agents.acp import catalogue
from unhang.agents.acp.report import report as report_on
from unhang.procs import command_line, tree
from unhang.testing.liveness import Process

WAITING = ("--idle", "90", "--hard", "100", "--startup", "80", "--stall", "2", "--grace", "30")

# Where the agent itself does nothing special: the others would only take their time.
FOUR = ("claude", "codex", "gemini", "kimi")


def ended_by(turn: Turn, budget: str, limit: int) -> None:
    """In time, with the truth in the result: which budget, and its figures."""
    result = turn.result
    assert turn.code == 124
    assert (result["status"], result["timeoutReason"]) == ("timeout", "no_output_timeout")
    assert (result["error"]["code"], result["error"]["survivors"]) == ("EIDLE", [])
    found = turn.about["budget"]
    assert (found["name"], found["limitMs"]) == (budget, limit * 1000), [event["message"] for event in turn.events]
    assert turn.said(rf"\({budget} budget: {limit}s\)", "stopping")["budget"] == found
    named = None if budget == "idle" else {"name": budget, "limitMs": limit * 1000}
    told = [event for event in turn.events if event["phase"] in ("warning", "timeout") and event["type"] == "watchdog"]
    # twice warned about where the agent has said once more in between that its tool runs
    assert {event["phase"] for event in told} == {"warning", "timeout"}
    assert [each for each in [*told, turn.events[-1]] if each.get("budget") != named] == [], (
        "nobody calls it an idle limit"
    )
    assert limit * 1000 - 500 <= found["elapsedMs"] <= limit * 1000 + 30_000


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_model_that_never_answers_uses_up_the_first_response(bench: Bench, name: str) -> None:
    bench.equip(name)
    turn = bench.turn(name, "[[hang]]", *WAITING, "--first", "4", record=f"{name}-hang")
    ended_by(turn, "first", 4)
    assert turn.result["diagnosis"]["cause"] == "network"
    stalls = [event for event in turn.events if event["phase"] == "stuck"]
    hung = [event["type"] for event in stalls if (event.get("diagnosis") or {}).get("state") == "hung"]
    assert hung == ["agent"]  # once, and not by the kernel; a slow start is a stall, too, and no hang
    assert "quiet" not in [event["phase"] for event in turn.events]
    assert turn.steps()["cancel"] is True
    assert turn.about["stopReason"] == "cancelled"


def test_a_hang_is_ended_by_the_drivers_verdict(bench: Bench) -> None:
    bench.equip("gemini")
    turn = bench.turn("gemini", "[[hang]]", *WAITING, "--warn", "1", "--on-hung", "end")
    assert (turn.code, turn.result["timeoutReason"]) == (124, "no_output_timeout")
    assert (turn.result["diagnosis"]["state"], turn.result["diagnosis"]["cause"]) == ("hung", "network")
    assert turn.result["error"]["idleMs"] < 80_000, "it has not waited for the limit"
    assert turn.steps()["cancel"] is True


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_a_model_that_stops_in_the_middle_uses_up_the_idle_limit(bench: Bench, name: str) -> None:
    bench.equip(name)
    turn = bench.turn(name, "[[hang_mid]]", "--idle", "8", "--hard", "100", "--first", "60", "--grace", "30")
    ended_by(turn, "idle", 8)
    assert turn.steps()["cancel"] is True
    assert turn.about["text"].startswith("pong")  # what it had written is kept


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_silent_tool_uses_up_its_own_limit_and_is_ended_with_its_children(bench: Bench, name: str) -> None:
    bench.equip(name)
    (bench.workspace / "silent.sh").write_text("sleep 1000 & sleep 1001\n")  # Claude refuses a plain sleep
    turn = bench.turn(
        name,
        "[[shell:bash silent.sh]]",
        *WAITING,
        "--tool",
        "4",
        "--permissions",
        "allow",
        record=f"{name}-tool-hang",
    )
    ended_by(turn, "tool", 4)
    assert "bash silent.sh" in turn.said("has produced no output", "stopping")["cause"]
    (tool,) = turn.about["toolCalls"]
    assert "bash silent.sh" in (tool["command"] or tool["title"])
    assert turn.steps()["cancel"] is True
    assert bench.left_over() == []


@pytest.mark.parametrize("name", ["gemini", "opencode", "qwen"])
def test_a_silent_command_is_explained_by_what_its_own_processes_wait_for(bench: Bench, name: str) -> None:
    """The limit leaves the agent time to be done with starting: Qwen runs `ps` meanwhile. Qwen announces a command by
    its kind, and names it when it asks for permission."""
    bench.equip(name)
    (bench.workspace / "silent.sh").write_text("sleep 1000 & sleep 1001\n")
    turn = bench.turn(name, "[[shell:bash silent.sh]]", *WAITING, "--tool", "24", "--permissions", "allow")
    ended_by(turn, "tool", 24)
    limit = next(event for event in turn.events if (event["type"], event["phase"]) == ("watchdog", "timeout"))
    for reason, named in (
        (limit["diagnosis"]["reason"], "bash silent.sh: "),
        (turn.result["diagnosis"]["reason"], "bash silent.sh; "),
    ):
        assert re.search(rf"{named}sleep \[\d+\] ", reason), reason


def test_a_command_that_asks_is_hung_and_no_answer_is_asked_for(bench: Bench) -> None:
    """Gemini gives its commands a terminal; what a person sends would go to the agent's driver."""
    bench.equip("gemini")
    (bench.workspace / "asks.sh").write_text("read -s -p 'Password: ' word\n")
    turn = bench.turn("gemini", "[[shell:bash asks.sh]]", *WAITING, "--tool", "8", "--permissions", "allow")
    ended_by(turn, "tool", 8)
    assert (turn.result["diagnosis"]["state"], turn.result["diagnosis"]["cause"]) == ("hung", "input")
    assert "needs_input" not in [event["phase"] for event in turn.events]
    advice = " ".join(turn.result["recovery"]["suggestions"])
    assert "asks nothing" in advice
    assert "unhang send" not in advice
    assert bench.left_over() == []


def test_a_command_that_is_proved_to_hang_is_ended_before_its_limit_where_that_is_allowed(bench: Bench) -> None:
    """The agent itself moves and listens meanwhile: the proof is that of the command's own processes."""
    bench.equip("gemini")
    (bench.workspace / "deadlock.sh").write_text("exec 9>lock; flock 9; (flock 9; echo) 9>lock\n")
    words = ("--tool", "85", "--warn", "1", "--permissions", "allow", "--on-hung", "end")
    turn = bench.turn("gemini", "[[shell:bash deadlock.sh]]", *WAITING, *words)
    assert (turn.code, turn.result["timeoutReason"]) == (124, "no_output_timeout")
    found = turn.result["diagnosis"]
    assert (found["state"], found["cause"]) == ("hung", "deadlock"), found
    assert "bash deadlock.sh" in found["reason"]
    assert turn.result["error"]["idleMs"] < 80_000, "it has not waited for the limit"
    assert turn.steps()["cancel"] is True
    assert bench.left_over() == []


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "qwen"])
def test_an_agent_that_dies_is_said_to_have_died(bench: Bench, name: str) -> None:
    """Qwen's is a launcher, whose child goes on and holds the line open."""
    bench.equip(name)
    wrapper = wrapped(bench, name, "echo 'no room is left on the disk' >&2; exec \"$@\"")  # some say more themselves
    job = bench.begun(name, "[[hang]]", *PATIENT, *wrapper)
    wait_until(lambda: "hang" in bench.fake.asked, "the model is asked", timeout=100)
    driver = job.view().pid
    assert driver is not None
    found = bench.said("diagnose", job.id)
    assert found["state"] != "alive", "that it listens, or moves files of its own, says nothing of its model"
    (agent,) = tree.children(driver)
    assert Process(agent).send(9)
    result = job.wait(60)
    assert (result.status, result.exit_code, result.timeout_reason) == ("error", 1, None)
    assert "ended while in a turn (killed by SIGKILL)" in result.stderr
    report = report_on(job.events())
    assert "killed by SIGKILL" in report["error"]["message"]
    error = result.to_json()["error"]
    assert error["code"] == "EAGENT"
    assert error["message"].startswith(f"{name} failed (job {job.id}): ")
    _, last_words = error["message"].split("; its last words on stderr: ")
    said = " ".join(line for line in result.stderr.splitlines() if not line.startswith("unhang: "))
    assert " ".join(said.split()).endswith(last_words.removeprefix("…"))
    assert (report["stopReason"], report["budget"]) == (None, None)


def wrapped(bench: Bench, name: str, line: str) -> tuple[str, str]:
    """--command for a shell line in which "$@" is the real agent."""
    recipe = catalogue.find(name)
    assert recipe is not None
    script = bench.folder / "wrapped.sh"
    script.write_text(f"{line}\n")
    words = ["/bin/bash", str(script), str(Path(bench.env["PATH"].split(":")[0]) / recipe.argv[0]), *recipe.argv[1:]]
    return "--command", shlex.join(words)


@pytest.mark.parametrize("name", FOUR)
def test_an_agent_that_floods_stderr_is_drained_and_works(bench: Bench, name: str) -> None:
    """8 MB before the first byte of the protocol, and more while it works."""
    bench.equip(name)
    flood = "yes 'a line that nobody reads' | head -c 8000000 >&2; (yes more | head -c 4000000 >&2) & exec \"$@\""
    turn = bench.turn(name, "[[text:still there]]", *PATIENT, *wrapped(bench, name, flood))
    assert turn.code == 0, turn.err
    assert turn.about["text"] == "still there"
    assert (turn.result["truncated"], "a line that nobody reads" in turn.result["stderr"]) == (True, True)


@pytest.mark.parametrize("name", FOUR)
def test_an_agent_that_never_answers_initialize_uses_up_its_start(bench: Bench, name: str) -> None:
    """The real agent runs, and never hears what we say: its input is another pipe, which never ends."""
    bench.equip(name)
    deaf = 'exec 9<&0; sleep 1000 | "$@"'
    words = ("--idle", "90", "--hard", "100", "--startup", "6", "--grace", "4")
    turn = bench.turn(name, "[[text:x]]", *words, *wrapped(bench, name, deaf))
    ended_by(turn, "startup", 6)
    assert turn.said("has not answered", "stuck")["diagnosis"]["state"] == "unsure"
    assert "has not answered" in turn.result["diagnosis"]["reason"]
    assert "(initialize)" in turn.said("has not answered", "stopping")["cause"]
    assert "cancel" not in turn.steps()  # there was no turn to be cancelled
    assert turn.steps()["close"] is False
    assert turn.about["sessionId"] is None


def test_cancel_climbs_the_same_ladder_and_names_no_budget(bench: Bench) -> None:
    bench.equip("gemini")
    job = bench.begun("gemini", "[[hang]]", *PATIENT, "--grace", "30")
    wait_until(lambda: "hang" in bench.fake.asked, "the model is asked", timeout=100)
    done = bench.call("cancel", job.id)
    assert job.result().status == "cancelled", done.err
    report = report_on(job.events())
    assert {step["step"]: step["done"] for step in report["ladder"]} == {"cancel": True, "close": True}
    assert (report["budget"], report["stopReason"]) == (None, "cancelled")


def test_an_open_question_is_answered_when_the_turn_is_cancelled(bench: Bench) -> None:
    bench.equip("claude")
    job = bench.begun("claude", "[[shell:touch marker]]", *PATIENT, "--permissions", "ask", "--grace", "30")
    wait_until(lambda: any(e["phase"] == "needs_approval" for e in job.events()), "it asks", timeout=100)
    bench.call("cancel", job.id)
    report = report_on(job.events())
    assert [one["decision"] for one in report["permissions"]] == ["cancelled"]
    assert {step["step"]: step["done"] for step in report["ladder"]}["cancel"] is True
    assert not (bench.workspace / "marker").exists()


def below(pid: int) -> list[int]:
    children = tree.children(pid)
    return children + [further for child in children for further in below(child)]


def test_a_killed_driver_leaves_nothing(bench: Bench) -> None:
    bench.equip("gemini")
    job = bench.begun("gemini", "[[shell:sleep 1003 & sleep 1004]]", *PATIENT, "--permissions", "allow")
    driver = wait_until(lambda: job.view().pid, "the driver")
    wait_until(lambda: any("sleep 1004" in command_line.of(pid, 4000) for pid in below(driver)), "it runs", timeout=100)
    assert Process(driver).send(9)
    result = job.wait(60)
    assert (result.status, result.signal) == ("error", "SIGKILL")
    assert bench.left_over() == []
