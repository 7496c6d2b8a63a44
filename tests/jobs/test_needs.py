"""What needs a person now, asked of real jobs: each with a command that answers it."""

from __future__ import annotations

import os
import re
import shlex
import time
from pathlib import Path

from tests.support.jobs import STILL, Jobs, wait_until
from unhang.core import values
from unhang.jobs.handle import Job


def test_a_prompt_is_listed_with_the_command_that_answers_it(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--name", "ask", "--stdin", "pipe", "--", "sh", "-c", 'printf "Go on? "; read x; echo $x')
    (need,) = wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    assert (need["jobId"], need["name"], need["needs"]["kind"]) == (job.id, "ask", "input")
    assert "Go on?" in need["needs"]["why"]
    assert f"unhang send ask {need['needs']['answers']}\n" in jobs.call("needs").out.decode()
    assert "unhang send ask TEXT" in jobs.call("diagnose", "ask").out.decode(), "its advice can be pasted, too"
    program, *words = shlex.split(need["needs"]["command"].replace("ANSWER", "yes"))
    assert program == "unhang"
    assert jobs.call(*words).code == 0
    assert job.wait().stdout == "Go on? yes\n"
    assert jobs.said("needs") == []


def test_a_warning_is_listed_until_it_is_given_more_time(jobs: Jobs) -> None:
    job = jobs.begin("--idle", "off", "--hard", "60", "--warn", "59", "--label", "a=b", "--", "sleep", "100")
    (need,) = wait_until(lambda: jobs.said("needs", "--label", "a=b"), "the warning has come")
    assert need["needs"]["kind"] == "warning"
    assert need["needs"]["endsAt"]
    assert re.match(rf"{job.id}: ends in \d+s: ", jobs.call("needs").out.decode())
    assert jobs.said("needs", "--label", "a=c") == []
    assert jobs.call(*shlex.split(need["needs"]["command"])[1:]).code == 0
    wait_until(lambda: jobs.said("needs") == [], "the warning is over")
    assert job.cancel().status == "cancelled"


def test_a_question_says_how_long_it_stands_and_all_lists_say_the_same(jobs: Jobs) -> None:
    job = jobs.begin("--idle", "20m", "--hard", "1h", "--stdin", "pipe", "--", "sh", "-c", "printf 'Go on? '; read x")
    (need,) = wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    left = (values.moment(need["needs"]["endsAt"]) or 0.0) - time.time()
    shown = [jobs.said("ps")[0]["endsInMs"] / 1000, jobs.said("status", job.id)["endsInMs"] / 1000, left]
    assert max(shown) < 1200, "the idle limit is nearer than the hard one"
    assert max(shown) - min(shown) < 60
    assert "ends in" in jobs.call("needs").out.decode()
    job.cancel()


def test_nothing_is_sent_only_by_mistake(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "sh", "-c", "read x; read y; echo $x$y")
    assert jobs.call("send", job.id).code == 2
    assert jobs.call("send", job.id, "").code == 0
    assert jobs.call("send", job.id, "--eof").code == 0
    assert job.wait().stdout == "\n"


def test_a_question_in_the_background_stands_for_five_minutes_however_quick_the_command_is(
    jobs: Jobs, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    line = f"printf 'Go on? '; read x; exec cat {tmp_path / 'fifo'}"
    job = jobs.begin("--stdin", "pipe", "--shell", line)
    (need,) = wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    status = jobs.said("status", job.id)
    assert (status["limits"]["idleMs"]["value"], status["limits"]["idleMs"]["source"]) == (30_000, "policy:quick")
    asked = next(event for event in job.events() if event["phase"] == "needs_input")
    assert (asked["tier"], asked["willAbortInMs"] > 200_000) == ("idle", True)
    assert jobs.said("ps")[0]["endsInMs"] > 30_000
    assert (values.moment(need["needs"]["endsAt"]) or 0.0) > (values.moment(asked["ts"]) or 0.0) + 200
    job.send("yes\n")
    # answered: the limit of the command is back
    wait_until(lambda: (jobs.said("status", job.id)["endsInMs"] or 0) <= 30_000, "the idle limit runs again")
    job.cancel()


def test_a_limit_that_was_written_down_holds_while_a_question_is_open(jobs: Jobs) -> None:
    job = jobs.begin("--idle", "100", "--stdin", "pipe", "--", "sh", "-c", "printf 'Go on? '; read x")
    wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    assert "willAbortInMs" not in next(event for event in job.events() if event["phase"] == "needs_input")
    assert jobs.said("status", job.id)["endsInMs"] <= 100_000
    job.cancel()


def _stalled(jobs: Jobs, name: str, time: str) -> tuple[Job, str]:
    """A job that sleeps, once its stall is announced and explained, and how."""
    job = jobs.begin(*STILL, "--stall", "2", "--name", name, "--", "sleep", time)
    stall = next(event for event in job.watch() if event["phase"] == "stuck")
    return job, str(stall["diagnosis"]["state"])


def test_a_job_that_goes_on_by_itself_needs_nobody(jobs: Jobs) -> None:
    (sleeps, how), (waits, how_not) = _stalled(jobs, "sleeps", "3600"), _stalled(jobs, "waits", "infinity")
    # One look after a short stillness is unsure of what waits for ever; a later one, on a busy machine, is certain.
    assert (how, how_not == "alive") == ("alive", False)
    assert [need["name"] for need in jobs.said("needs")] == ["waits"]
    assert {row["name"]: row["phase"] for row in jobs.said("ps")} == {"sleeps": "quiet", "waits": "stuck"}
    status = jobs.said("status", "sleeps")
    assert (status["phase"], status["needs"], status["diagnosis"]["cause"]) == ("quiet", None, "timer")
    assert "\nstatus     waits for timer\n" in jobs.call("status", "sleeps").out.decode()

    def left() -> int:
        return int(jobs.said("status", "sleeps")["diagnosis"]["evidence"]["endsInMs"])

    first = left()
    assert 0 < first < 3_600_000
    wait_until(lambda: left() < first, "what is left counts down, though nothing is recorded meanwhile")
    sleeps.cancel()
    waits.cancel()
