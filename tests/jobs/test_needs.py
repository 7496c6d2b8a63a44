"""What needs a person now, asked of real jobs: each with a command that answers it."""

from __future__ import annotations

import shlex

from tests.support.jobs import STILL, Jobs, wait_until


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
