"""The record of an agent's job holds its plan; lists and events show the agent and its task."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.acp_agents.harness import PATIENT, Bench
from tests.support.history import teach
from tests.support.jobs import over, wait_until
from tests.support.places import SUPPORT
from unhang.jobs import history
from unhang.procs import command_line

COMMAND = ("--command", shlex.join([sys.executable, str(SUPPORT / "acp_agents" / "standin.py")]))
WAITS = ("--command", shlex.join([sys.executable, str(SUPPORT / "acp_agents" / "standin.py"), "waits"]))
WORKS = ("--command", shlex.join([sys.executable, str(SUPPORT / "acp_agents" / "standin.py"), "works", "waits"]))
SECRET = "hunter2hunter2"
POLICY = """
version = "1.0"
extends = "built-in"
[categories.bricks]
exec_timeout_sec = "30m"
no_output_timeout_sec = "17m"
[command_patterns]
bricks = ["make bricks"]
"""
LEARN = """
version = "1.0"
extends = "built-in"
[learn]
min_runs = 3
"""


def test_lists_and_events_show_the_agent_and_its_task(bench: Bench) -> None:
    job = over(bench.begun("mine", "fix the\n  failing test", *COMMAND, *PATIENT))
    shown = "mine: fix the failing test"
    (row,) = bench.said("ps", "--all")
    assert row["command"] == shown
    assert shown in bench.call("ps", "--all").out.decode()
    assert shown in bench.call("status", job.id).out.decode()
    (run,) = bench.said("history")["commands"]
    assert (run["command"], run["task"]) == ("mine run", shown), "hardly a task is ever given twice"
    assert shown[:16].encode() in bench.call("history").out  # the table is narrow here
    first = job.events()[0]
    assert first["message"] == f"started: {shown}"
    agent = {"name": "mine", "protocol": "acp", "mode": "run", "task": "fix the failing test"}
    assert first["agent"] == agent
    record = json.loads(Path(job.place.job).read_text())["agent"]
    assert record["plan"]["tasks"] == ["fix the\n  failing test"]
    assert {name: record[name] for name in agent} == agent


def test_the_runs_of_an_agent_teach_whatever_their_tasks(bench: Bench) -> None:
    (bench.workspace / ".unhang.toml").write_text(LEARN)
    for task in ("fix the test", "write the docs", "tidy up"):
        assert over(bench.begun("mine", task, *COMMAND)).result().status == "success"
    learnt = over(bench.begun("mine", "paint the shed", *COMMAND, "--idle", "auto")).result()
    assert learnt.limits["idleMs"]["source"].startswith("history: ")
    longer = over(bench.begun("mine", "take your time", *COMMAND, "--idle", "30m"))
    assert longer.result().status == "success"
    runs = history.runs_of(str(bench.home), "mine run", str(bench.workspace))["runs"]
    assert [run["teaches"] for run in runs if run["jobId"] == longer.id] == [False], "more than the policy gives"
    assert sum(run["teaches"] for run in runs) == 4


@pytest.mark.slow
def test_a_run_that_is_slower_than_those_of_its_agent_is_said_to_be(bench: Bench) -> None:
    teach(str(bench.home), "mine run", 1.0, 1.0, cwd=str(bench.workspace))
    job = bench.begun("mine", "take your time", *WAITS, *PATIENT)
    slow = next(event for event in job.watch(timeout=60) if event["phase"] == "slow")
    assert slow["runs"] == 12
    job.cancel()


def test_a_task_is_on_no_command_line_of_unhangs(bench: Bench) -> None:
    job = bench.begun("mine", "a private matter", *WAITS, *PATIENT)
    driver = job.view().pid
    assert driver is not None
    assert "unhang.agents.acp.driver" in command_line.of(driver, 10_000)
    assert "private" not in command_line.of(driver, 10_000)
    bench.call("cancel", job.id)


@pytest.mark.parametrize("task", [f"log in with {SECRET}", f"use --password {SECRET}"])
def test_a_secret_in_a_task_is_in_the_record_of_the_job_alone(bench: Bench, task: str) -> None:
    bench.env["DEPLOY_TOKEN"] = SECRET if task.startswith("log") else "another-secret"
    job = over(bench.begun("mine", task, *COMMAND, *PATIENT))
    shown = b"".join(bench.call(*words).out for words in (("ps", "-a"), ("status", job.id), ("history",)))
    assert b"***" in shown
    assert SECRET.encode() not in shown
    kept = [path for path in bench.home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert [path.name for path in kept] == ["job.json"]
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert kept[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_long_task_leaves_stdin_to_the_answers_of_a_person(bench: Bench) -> None:
    task = "x" * 125_000
    turn = bench.turn("mine", task, "--then", task, "--permissions", "ask", *COMMAND, *PATIENT)
    assert (turn.code, turn.result["stdout"]) == (0, "turn 3\nturn 4\n")


def test_a_task_that_no_record_holds_is_refused(bench: Bench) -> None:
    (bench.folder / "task").write_text("x" * (5 << 20))
    with (bench.folder / "task").open() as file:
        done = bench.finish(bench.popen("agent", "run", "mine", "-", *COMMAND, stdin=file))
    assert (done.code, done.out) == (2, b"")
    assert b"4 MiB" in done.err


def test_the_limit_of_a_tool_is_that_of_the_users_policy(bench: Bench) -> None:
    policy = bench.folder / "mine.toml"
    policy.write_text(POLICY)
    job = bench.begun("mine", "work", *WORKS, *PATIENT, "--policy", policy)
    wait_until(lambda: any(event.get("toolCallId") for event in job.events()), "the tool runs")
    bench.call("cancel", job.id)
    job.wait(60)
    (budget,) = [event["budget"] for event in job.events() if event["phase"] == "stopping" and "budget" in event]
    assert (budget["name"], budget["limitMs"]) == ("tool", 17 * 60_000)
