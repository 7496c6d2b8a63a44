"""Commands for several jobs at once, and for the same job once more."""

from __future__ import annotations

import json
import re
import time

import unhang
from tests.support.jobs import STILL, Jobs, left_of, over

SLEEPS = (*STILL, "--", "sleep", "100")


def test_waiting_for_several_fails_if_any_failed_and_says_which(jobs: Jobs) -> None:
    good = jobs.begin("--", "true")
    bad = jobs.begin("--name", "bad", "--", "sh", "-c", "exit 7")
    last = jobs.begin("--", "true")
    done = jobs.call("wait", good.id, bad.id, last.id)
    assert done.code == 7
    said = done.err.decode().splitlines()
    assert len(said) == 1
    assert "bad" in said[0]
    assert bad.id in said[0]
    assert jobs.call("wait", good.id, last.id) == (0, b"", b"")
    assert jobs.call("wait", bad.id) == (7, b"", b"")


def test_waiting_for_a_label_counts_the_jobs_that_have_ended_and_no_other(jobs: Jobs) -> None:
    bad = over(jobs.begin("--label", "run=1", "--", "sh", "-c", "exit 7"))
    jobs.begin("--label", "run=2", "--", "sh", "-c", "exit 9")
    held = jobs.begin("--label", "run=1", "--stdin", "pipe", "--", "sh", "-c", "read line")
    late = jobs.call("wait", "--label", "run=1", "--timeout", "0.2")
    assert (late.code, late.out) == (124, b"")
    assert late.err.count(b"\n") == 1, "which jobs go on, in one line"
    assert jobs.call("send", held.id, "on").code == 0
    done = jobs.call("wait", "--label", "run=1")
    assert done.code == 7
    assert bad.id in done.err.decode()
    assert held.id not in done.err.decode()
    assert jobs.call("wait", "--label", "run=2", "--json").code == 9
    around = jobs.begin("--label", "run=3", "--", *jobs.command("wait", "--label", "run=3"))
    assert over(around).result().exit_code == 2, "it does not wait for itself"
    jobs.refused("wait", "--label", "run=4", code=2)
    jobs.refused("wait", "--label", "run=1", bad.id, code=2)
    jobs.refused("wait", code=2)


def test_every_job_is_cancelled_with_proof_of_what_was_left(jobs: Jobs) -> None:
    ended = [jobs.begin(*SLEEPS) for _ in range(3)]
    done = jobs.call("cancel", "--all")
    assert done.code == 0
    lines = done.err.decode().splitlines()
    assert [sum(job.id in line and "nothing of it is left" in line for line in lines) for job in ended] == [1, 1, 1]
    assert all(job.result().status == "cancelled" and left_of(job.place) == [] for job in ended)
    assert jobs.call("cancel", "--all").code == 0


def test_jobs_are_cancelled_by_label_and_others_go_on(jobs: Jobs) -> None:
    mine = jobs.begin("--label", "run=1", *SLEEPS)
    other = jobs.begin("--label", "run=2", *SLEEPS)
    done = jobs.call("cancel", "--label", "run=1", "--json")
    assert [json.loads(line)["jobId"] for line in done.out.splitlines()] == [mine.id]
    assert mine.ended()
    assert not other.ended()


def test_a_job_that_cancels_everything_does_not_cancel_itself(jobs: Jobs) -> None:
    other = jobs.begin(*SLEEPS)
    around = jobs.begin("--", *jobs.command("cancel", "--all"))
    assert over(around).result().ok
    assert other.result().status == "cancelled"


def test_cancel_wants_jobs_in_one_way(jobs: Jobs) -> None:
    jobs.refused("cancel", code=2)
    jobs.refused("cancel", "--all", "@last", code=2)
    jobs.refused("cancel", "--all", "--label", "a=b", code=2)


def test_a_job_is_started_again_as_it_was(jobs: Jobs) -> None:
    words = ("--name", "web", "--label", "a=b", "--idle", "1h", "--hard", "2h", "--stdin", "pipe")
    first = jobs.begin(*words, "--shell", "echo one; cat", cwd=jobs.folder)
    done = jobs.call("restart", "web")
    second = jobs.handle(done.out.decode().strip())
    assert done.code == 0
    assert second != first
    assert first.result().status == "cancelled"
    for name in ("argv", "shell", "cwd", "labels", "limits", "sources", "stdin"):
        assert second.spec[name] == first.spec[name]
    second.send("two\n", eof=True)
    assert second.wait().stdout == "one\ntwo\n"
    third = jobs.said("restart", "web")
    assert (third["jobId"] not in (first.id, second.id), third["status"]) == (True, "running")


def test_variables_that_were_added_are_asked_for_again(jobs: Jobs) -> None:
    job = jobs.begin("--env", "PLACE=here", "--", "sh", "-c", "echo $PLACE")
    over(job)
    assert "PLACE" in jobs.refused("restart", job.id, code=2)
    again = jobs.handle(jobs.call("restart", job.id, "--env", "PLACE=there").out.decode().strip())
    assert again.wait().stdout == "there\n"
    assert "there" not in json.dumps(again.spec)


def test_a_foreground_job_is_started_again_in_the_background(jobs: Jobs) -> None:
    assert jobs.run("--", "sh", "-c", "exit 4").code == 4
    again = jobs.handle(jobs.call("restart", "@last").out.decode().strip())
    assert again.wait().exit_code == 4


def test_what_gc_would_remove_is_said_and_kept(jobs: Jobs) -> None:
    mine = over(jobs.begin("--label", "ci=1", "--", "true"))
    other = over(jobs.begin("--", "true"))
    for _ in range(2):  # nothing is removed by asking
        said = jobs.said("gc", "--count", "0", "--label", "ci=1", "--dry-run")
        assert (said["removed"], said["dryRun"]) == ([mine.id], True)
        assert said["freedBytes"] > 0
        assert said["jobs"] == 2
    assert mine.id in jobs.call("gc", "--count", "0", "--dry-run").out.decode()
    assert jobs.said("gc", "--count", "0", "--label", "ci=1")["removed"] == [mine.id]
    assert [row["jobId"] for row in jobs.said("ps", "--all")] == [other.id]


def test_gc_removes_the_ended_jobs_that_are_named_and_no_other(jobs: Jobs) -> None:
    running = jobs.begin("--name", "server", *SLEEPS)
    named, second, other = (over(jobs.begin(*words, "--", "true")) for words in (("--name", "web"), (), ()))
    assert running.id in jobs.refused("gc", named.id, "server")  # all of them, or none
    assert jobs.refused("gc", named.id, "no-such-job")
    assert "--age" in jobs.refused("gc", named.id, "--age", "0", code=2)
    said = jobs.said("gc", "web", "--dry-run")
    assert (said["removed"], said["jobs"]) == ([named.id], 4)
    said = jobs.said("gc", "web", named.id, second.id)  # named twice, removed once
    assert (said["removed"], said["jobs"]) == ([named.id, second.id], 2)
    assert "historyRuns" not in said
    assert {row["jobId"] for row in jobs.said("ps", "--all")} == {running.id, other.id}
    assert running.ping()["ok"] is True
    assert len(jobs.said("history")["commands"]) > 0


def test_the_use_of_the_disk_is_said(jobs: Jobs) -> None:
    over(jobs.begin("--", "sh", "-c", "yes | head -c 3000000"))
    (disk,) = [
        check for check in jobs.said("doctor", code=jobs.call("doctor").code)["checks"] if check["check"] == "disk"
    ]
    assert disk["ok"] is True
    assert "MiB" in disk["message"]
    assert "MiB" in jobs.call("gc").out.decode()


def test_a_result_after_retries_tells_each_attempt(jobs: Jobs) -> None:
    begun = time.monotonic()
    result = unhang.run(["sleep", "60"], hard=0.5, warn=0, grace=1, idle="off", retry=1)
    took = time.monotonic() - begun
    shown = result.to_json()
    assert (shown["attempts"], len(result.attempts)) == (2, 2)
    assert [end["attempt"] for end in shown["attemptEnds"]] == [1, 2]
    assert {end["timeoutReason"] for end in shown["attemptEnds"]} == {"exec_timeout"}
    assert sum(end["durationMs"] for end in shown["attemptEnds"]) <= shown["totalMs"] <= took * 1000
    assert jobs.said("result", result.job_id, code=124)["attemptEnds"] == shown["attemptEnds"]
    status = jobs.said("status", result.job_id)
    assert (status["attemptEnds"], status["totalMs"]) == (shown["attemptEnds"], shown["totalMs"])
    told = "; ".join(f"{end['attempt']}: {end['message']}" for end in shown["attemptEnds"])
    text = jobs.call("status", result.job_id).out.decode()
    assert re.search(rf"^attempts +2, \S+ in all; {re.escape(told)}$", text, re.MULTILINE), text
    assert "attempts" not in unhang.run(["true"]).to_json()
