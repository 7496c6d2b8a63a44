"""Names of jobs: given at the start, and usable wherever an id is."""

from __future__ import annotations

import pytest

import unhang
from tests.support.jobs import STILL, Jobs


def test_a_name_is_usable_wherever_an_id_is(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.begin(*STILL, "--name", "web", "--stdin", "pipe", "--", "cat")
    assert jobs.said("ps")[0]["name"] == "web"
    assert jobs.said("status", "web")["jobId"] == job.id
    assert jobs.call("send", "web", "hello", "--eof").code == 0
    assert jobs.call("wait", "web").code == 0
    assert jobs.call("logs", "web").out == b"hello\n"
    monkeypatch.setenv("UNHANG_HOME", str(jobs.home))
    assert unhang.job("web").id == job.id


def test_a_name_is_usable_for_what_gives_time_and_what_explains(jobs: Jobs) -> None:
    job = jobs.begin(*STILL, "--name", "web", "--stdin", "pipe", "--", "sh", "-c", "read line; echo $line; exit 3")
    assert jobs.call("extend", "web", "--hard", "1h").code == 0
    status = jobs.said("status", job.id)
    assert status["endsInMs"] > 3_600_000
    assert status["pid"] in [process["pid"] for process in jobs.said("diagnose", "web")["processes"]]
    job.send("hello\n")
    job.wait()
    assert jobs.said("events", "web", "--envelope")["jobId"] == job.id
    assert jobs.call("result", "web")[:2] == (3, b"hello\n")
    assert jobs.said("result", "web", code=3)["jobId"] == job.id


def test_one_running_job_has_a_name_and_an_ended_one_gives_it_free(jobs: Jobs) -> None:
    first = jobs.begin(*STILL, "--name", "web", "--", "sleep", "100")
    assert first.id in jobs.refused("start", "--name", "web", "--", "true", code=2)
    assert jobs.call("cancel", "web").code == 0
    second = jobs.begin("--name", "web", "--", "true")
    second.wait()
    assert jobs.said("status", "web")["jobId"] == second.id
    assert jobs.said("status", first.id)["jobId"] == first.id


@pytest.mark.parametrize("name", ["", "1st", "a b", "-x", "@last", "x" * 41, "ü", "a/b"])
def test_what_cannot_be_a_name_is_refused(jobs: Jobs, name: str) -> None:
    jobs.refused("start", f"--name={name}", "--", "true", code=2)


def test_a_name_that_no_job_has_is_no_job(jobs: Jobs) -> None:
    jobs.refused("status", "Nobody")
    jobs.refused("status", "nobody")
