"""Agents that do what no real one does on purpose (`standin.py`): still answered, understood, ended in time."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.acp_agents.harness import PATIENT, Bench
from tests.support.engine import wait_until
from tests.support.places import SUPPORT
from tests.support.turn import Turn
from unhang.store import files
from unhang.store.layout import JobDir

STANDIN = SUPPORT / "acp_agents" / "standin.py"


def run(bench: Bench, behaviour: str, *words: object, task: str = "do it") -> Turn:
    line = shlex.join([sys.executable, str(STANDIN), *behaviour.split()])
    return bench.turn("stand-in", task, "--command", line, *(words or PATIENT))


def test_an_agent_without_a_recipe_is_driven_by_its_command(bench: Bench) -> None:
    turn = run(bench, "", *PATIENT, "--then", "and this")
    assert (turn.code, turn.about["name"], turn.about["text"]) == (0, "stand-in", "turn 3\nturn 4")
    (row,) = bench.said("ps", "--all")
    assert row["command"].endswith(": do it"), "people know it by its task"


def test_an_agent_is_in_the_trace_of_its_job(bench: Bench) -> None:
    trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    bench.env["TRACEPARENT"] = f"00-{trace}-{caller}-01"
    turn = run(bench, "traced")
    place = files.read_json(JobDir(str(bench.home), turn.result["jobId"]).job)
    assert place is not None
    assert (place["trace"]["traceId"], place["trace"]["parentSpanId"]) == (trace, caller)
    assert turn.about["text"] == f"00-{trace}-{place['trace']['spanId']}-01"


def test_an_agent_that_ignores_everything_is_killed_in_time(bench: Bench) -> None:
    turn = run(bench, "deaf stubborn", "--idle", "90", "--hard", "60", "--first", "1", "--grace", "2")
    assert turn.code == 124
    assert turn.about["budget"]["name"] == "first"
    assert turn.steps() == {"cancel": False, "close": False, "terminate": False}
    assert (turn.result["terminationMode"], turn.result["error"]["survivors"]) == ("hard", [])


def test_an_agent_that_is_busy_with_itself_is_not_taken_for_its_tool(bench: Bench) -> None:
    """Its process has begun just before the tool, which is no process at all."""
    turn = run(
        bench, "works waits polls", "--idle", "90", "--hard", "60", "--stall", "1", "--tool", "6", "--grace", "2"
    )
    assert turn.code == 124
    began = turn.events.index(next(event for event in turn.told if event["phase"] == "running"))
    notices = [event["phase"] for event in turn.events[began:] if event["type"] == "watchdog"]
    assert "stuck" in notices
    assert "quiet" not in notices


def test_noise_on_stdout_is_passed_over_and_reported(bench: Bench) -> None:
    turn = run(bench, "noisy")
    assert (turn.code, turn.about["text"]) == (0, "turn 3")
    noises = [
        event["message"] for event in turn.told if event["phase"] == "warning" and "on stdout" in event["message"]
    ]
    assert len(noises) == 4
    assert "Welcome!" in noises[0]


def test_what_is_new_is_kept_as_it_came_and_breaks_nothing(bench: Bench) -> None:
    turn = run(bench, "new")
    assert (turn.code, turn.about["text"]) == (0, "turn 3")
    assert '"deep":[1,2,null]' in turn.said("telepathy_update", "unknown")["raw"]
    assert turn.said("future/notice", "unknown")
    assert turn.said("_vendor/thing")["phase"] != "unknown"


def test_every_question_gets_an_answer(bench: Bench) -> None:
    """Also those that nobody serves here: a permission, none but for ever, an elicitation, a terminal, a file, news."""
    refused = [{"outcome": {"outcome": "selected", "optionId": "c"}}, {"outcome": {"outcome": "cancelled"}}]
    rest = [{"action": "decline"}, -32601, -32601, -32601]
    turn = run(bench, "asks")
    assert json.loads(turn.about["text"]) == refused + rest
    assert [one["decision"] for one in turn.about["permissions"]] == ["denied", "cancelled"]
    once = [{"outcome": {"outcome": "selected", "optionId": "b"}}, {"outcome": {"outcome": "cancelled"}}]
    strict = run(bench, "asks", *PATIENT, "--permissions", "allow-once")
    assert json.loads(strict.about["text"]) == once + rest
    always = [once[0], {"outcome": {"outcome": "selected", "optionId": "a"}}]
    assert json.loads(run(bench, "asks", *PATIENT, "--permissions", "allow").about["text"]) == always + rest
    outside = run(bench, "asks", *PATIENT, "--fs", "write")
    assert json.loads(outside.about["text"])[4] == -32602


def test_a_question_without_an_answer_is_denied(bench: Bench) -> None:
    turn = run(bench, "asks", *PATIENT, "--permissions", "ask", "--permission-wait", "1")
    assert turn.code == 0
    assert all("1s" in one["by"] for one in turn.about["permissions"])
    assert len(turn.about["permissions"]) == 2
    assert json.loads(turn.about["text"])[0] == {"outcome": {"outcome": "selected", "optionId": "c"}}


def test_version_two_ends_a_turn_by_an_update(bench: Bench) -> None:
    turn = run(bench, "v2", *PATIENT, "--then", "again")
    assert (turn.code, turn.about["text"], turn.about["protocolVersion"]) == (0, "version two\nversion two", 2)
    assert turn.about["stopReason"] == "end_turn"


def test_a_session_is_loaded_where_it_cannot_be_resumed(bench: Bench) -> None:
    turn = run(bench, "loads", *PATIENT, "--session", "stand-in-1")
    assert (turn.code, turn.about["text"], turn.about["toolCalls"]) == (0, "turn 3", [])


@pytest.mark.parametrize(
    ("behaviour", "words", "message"),
    [
        ("old", ("--session", "x"), "session/resume"),
        ("refuses", (), "Authentication required"),
        ("strange", (), "version 99"),
        ("endless", (), "256 MiB"),
        ("quits", (), "exit code 7"),
        ("", ("--model", "x"), "model"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    bench: Bench, behaviour: str, words: tuple[str, ...], message: str
) -> None:
    turn = run(bench, behaviour, *PATIENT, *words)
    assert turn.code == 1
    assert turn.result["stderr"].startswith("unhang: ")
    assert message in turn.result["stderr"]
    assert len(turn.result["stderr"].splitlines()) == 1
    assert message in turn.about["error"]["message"]
    assert turn.about["budget"] is None


def test_a_turn_that_ends_as_it_is_cancelled_is_not_followed_by_another(bench: Bench) -> None:
    """The late cancel would hit the next turn of the session, so there is none."""
    words = ("--idle", "90", "--hard", "60", "--first", "1", "--grace", "6", "--then", "the next one")
    target = bench.folder / "lines"
    turn = run(bench, "crossing", *words, "--record", target)
    assert turn.code == 124
    assert turn.steps()["cancel"] is True
    sent = [json.loads(json.loads(line)["raw"]) for line in target.read_text().splitlines() if '"unhang"' in line]
    methods = [message.get("method") for message in sent]
    assert methods == ["initialize", "session/new", "session/prompt", "session/cancel"]


def test_an_open_question_is_answered_before_the_turn_is_cancelled(bench: Bench) -> None:
    """As the protocol wants it; this agent reads nothing else until it has its answer."""
    target = bench.folder / "lines"
    words = ("--command", shlex.join([sys.executable, str(STANDIN), "asks"]), "--permissions", "ask", "--grace", "20")
    job = bench.begun("stand-in", "do it", *PATIENT, *words, "--record", target)
    wait_until(lambda: any(event["phase"] == "needs_approval" for event in job.events()), "it asks")
    bench.call("cancel", job.id)
    assert job.result().status == "cancelled"
    sent = [json.loads(json.loads(line)["raw"]) for line in target.read_text().splitlines() if '"unhang"' in line]
    answer, cancel = sent[3], sent[4]
    assert answer == {"jsonrpc": "2.0", "id": 101, "result": {"outcome": {"outcome": "cancelled"}}}
    assert cancel["method"] == "session/cancel"
    assert sent[5]["result"] == {"outcome": {"outcome": "cancelled"}}  # and so is the next one


def test_idle_off_leaves_the_other_budgets(bench: Bench) -> None:
    turn = run(bench, "waits", "--idle", "off", "--hard", "60", "--first", "1", "--grace", "6")
    assert (turn.code, turn.about["budget"]["name"], turn.about["budget"]["limitMs"]) == (124, "first", 1000)


def test_the_whole_has_a_limit_too(bench: Bench) -> None:
    """It counts from the start of the job: a stand-in is in its turn by then, a real agent may still be starting."""
    turn = run(bench, "waits", "--idle", "60", "--first", "60", "--hard", "10", "--warn", "1", "--grace", "30")
    assert turn.code == 124
    assert (turn.result["timeoutReason"], turn.result["error"]["code"]) == ("exec_timeout", "ETIMEDOUT")
    assert (turn.about["budget"]["name"], turn.about["budget"]["limitMs"]) == ("hard", 10_000)
    assert turn.steps()["cancel"] is True


def test_a_long_task_goes_by_stdin(bench: Bench) -> None:
    turn = run(bench, "", task="x" * 125_000)
    assert (turn.code, turn.about["text"]) == (0, "turn 3")


@pytest.mark.parametrize("allowed", ["none", "write"])
def test_odd_values_in_every_field_cost_nothing_but_themselves(bench: Bench, allowed: str) -> None:
    turn = run(bench, "odd", *PATIENT, "--fs", allowed, "--then", "and this")
    assert (turn.code, turn.about["text"]) == (0, "? and turn 3\n? and turn 4")
    assert not [event for event in turn.told if "could not be understood" in event["message"]]
    for line in Path(turn.job.place.events).read_bytes().splitlines():
        event = json.loads(line, parse_constant=pytest.fail)
        assert len(line) < 4096
        assert event["type"] != "oversize-event-elided"


def test_an_agent_that_floods_is_heard_and_does_not_fill_the_disk(bench: Bench) -> None:
    turn = run(bench, "floods shouts")
    assert (turn.code, turn.about["text"]) == (0, "turn 3")
    assert len(turn.told) < 3000
    assert sum(event.get("missing", 0) for event in turn.told) > 15_000
    assert turn.events[-1]["bytes"]["stderr"] == 40_000_000


def test_an_agent_can_be_run_with_few_descriptors(bench: Bench) -> None:
    agent = shlex.join([sys.executable, str(STANDIN)])
    words = bench.command("agent", "run", "stand-in", "do it", "--command", agent, "--wait", "--json", *PATIENT)
    line = f"ulimit -n 64; exec {shlex.join(map(str, words))}"
    done = subprocess.run(
        ["sh", "-c", line], env=bench.env, cwd=bench.workspace, capture_output=True, timeout=110, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["agent"]["text"]) == (0, "turn 3")
