"""What needs a person now, asked of real jobs: each with a command that answers it."""

from __future__ import annotations

import shlex
import time

from tests.support.jobs import STILL, Jobs, wait_until
from unhang.core import values


def test_a_prompt_is_listed_with_the_command_that_answers_it(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--name", "ask", "--stdin", "pipe", "--", "sh", "-c", 'printf "Go on? "; read x; echo $x')
    (need,) = wait_until(lambda: jobs.said("needs"), "the prompt is noticed")
    assert (need["jobId"], need["name"], need["needs"]["kind"]) == (job.id, "ask", "input")
    assert "Go on?" in need["needs"]["why"]
    assert f"unhang send ask {need['needs']['answers']}\n" in jobs.call("needs").out.decode()
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
