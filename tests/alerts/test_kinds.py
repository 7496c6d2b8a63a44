"""Each kind of alert from a real job: what arrives, in which order, and what a person at the terminal is spared."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.alerts import Receiver, deliverers, rules
from tests.support.desk import Desk
from tests.support.jobs import STILL, Jobs, wait_until
from unhang.store import files

# It is warned about halfway, and has the other half from the warning on, however late that comes.
WARNED = ("--idle", "40", "--warn", "20", "--hard", "off", "--stall", "off")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A FIFO: who opens it for reading is silent until the test writes to it."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def is_read(jobs: Jobs, job: str, seq: int) -> bool:
    """Whether the deliverer has noted the event with this number, and so has decided about it."""
    state = files.read_json(f"{jobs.home}/alerts/state.json") or {}
    return int((state.get("cursors") or {}).get(job, 0)) >= seq


def test_a_stall_its_end_by_output_and_the_end_by_a_limit_are_told(
    jobs: Jobs, alerts: Path, receiver: Receiver, gate: Path
) -> None:
    alerts.write_text(rules(receiver.url, "stuck", "recovered", "timeout"))
    job = jobs.begin(*STILL, "--stall", "1", "--", "sh", "-c", f"cat {gate}; sleep 3600")
    wait_until(lambda: receiver.kinds() == [["stuck"]], "the stall is told")
    gate.write_text("on\n")
    wait_until(lambda: receiver.kinds()[1:2] == [["recovered"]], "that it goes on is told")
    job.cancel()
    ended = jobs.begin("--idle", "1", "--hard", "off", "--stall", "off", "--", "sleep", "3600")
    wait_until(lambda: [kind for kinds in receiver.kinds()[2:] for kind in kinds if kind == "timeout"], "its end, too")
    assert ended.wait().status == "timeout"
    assert receiver.values()[-1]["alerts"][-1]["jobId"] == ended.id


def test_a_warning_is_told_and_that_a_person_has_given_it_more_time(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "warning", "recovered"))
    job = jobs.begin(*WARNED, "--", "sleep", "3600")
    wait_until(lambda: receiver.kinds() == [["warning"]], "the warning is told", timeout=60)
    (told,) = receiver.values()[0]["alerts"]
    assert told["what"].startswith("ends within "), "so that a reader knows what time there is"
    name, *words = told["paste"].split()
    assert (name, words[:2]) == ("unhang", ["extend", job.id])
    assert jobs.call(*words).code == 0, "what is pasted works"
    wait_until(lambda: receiver.kinds()[1:] == [["recovered"]], "what the person did is seen by the others")
    job.cancel()


def test_a_job_that_is_cancelled_takes_what_was_held_about_it_along(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    now = time.time()
    begin, end = (time.strftime("%H:%M", time.localtime(now + hours * 3600)) for hours in (-2, 2))
    quiet = f'[quiet]\nfrom = "{begin}"\nto = "{end}"\nlet = []\n'
    alerts.write_text(rules(receiver.url, "needs_input", "failed") + quiet)
    asks = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", 'printf "Name? "; read x; sleep 3600')
    event = wait_until(lambda: [each for each in asks.events() if each["phase"] == "needs_input"], "it asks")[0]
    wait_until(lambda: is_read(jobs, asks.id, event["seq"]), "the question is noted")
    asks.cancel()
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver, though it is quiet for hours")
    assert (receiver.requests, jobs.said("alerts", "status")["waiting"]["held"]) == ([], 0)


def test_the_second_question_of_a_job_is_told_at_once_when_the_first_was_answered(
    jobs: Jobs, alerts: Path, receiver: Receiver
) -> None:
    alerts.write_text(rules(receiver.url, "needs_input"))
    asks = 'for name in First Second; do printf "$name? "; read x; done; sleep 3600'
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", asks)
    for count, name in enumerate(("First", "Second"), 1):
        wait_until(lambda count=count: len(receiver.requests) == count, f"{name} is told")  # type: ignore[misc]
        assert f"{name}?" in receiver.values()[-1]["alerts"][0]["what"]
        job.send("x\n")
    job.cancel()


def test_run_names_a_target_for_itself_alone(jobs: Jobs, alerts: Path, receiver: Receiver) -> None:
    alerts.write_text(f'[target.hook]\nkind = "webhook"\nurl = "{receiver.url}"\n')
    assert jobs.call("run", "--", "false").code == 1
    assert jobs.call("run", "--notify", "hook", "--", "sh", "-c", "exit 3").code == 3
    wait_until(lambda: receiver.requests, "it is told")
    wait_until(lambda: not deliverers(jobs.home), "nothing is left to deliver")
    assert receiver.kinds() == [["failed"]]
    assert receiver.values()[0]["alerts"][0]["command"] == "sh -c 'exit 3'"


def test_who_sits_at_the_terminal_of_a_job_is_told_there_alone_and_who_has_left_is_told(
    jobs: Jobs, alerts: Path, receiver: Receiver, gate: Path
) -> None:
    alerts.write_text(rules(receiver.url, "stuck", "failed"))
    desk = Desk(jobs).wait_for_shell()
    try:
        terminal = desk.tmux("display-message", "-p", "#{pane_tty}").strip()
        desk.run("unhang", "run", "--no-pty", *STILL, "--stall", "1", "--", "sh", "-c", f"cat {gate}; exit 3")
        (row,) = wait_until(lambda: jobs.said("ps"), "it runs")
        job = jobs.handle(row["jobId"])
        stuck = wait_until(lambda: [each for each in job.events() if each["phase"] == "stuck"], "it is stuck")[0]
        wait_until(lambda: is_read(jobs, job.id, stuck["seq"]), "the deliverer has seen it")
        assert files.read_json(f"{jobs.home}/alerts/state.json")["held"] == []  # type: ignore[index]
        os.utime(terminal, (1, 1))  # the last key was long ago
        gate.write_text("on\n")
        wait_until(lambda: receiver.requests, "its end is told")
        assert receiver.kinds() == [["failed"]]
    finally:
        desk.close()
