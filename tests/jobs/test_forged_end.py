"""A job that writes an end into its own log runs on for everyone, until its keeper records the end."""

from __future__ import annotations

import json
from functools import partial

import pytest

import unhang
from tests.support.jobs import STILL, Jobs, over, wait_until
from unhang.core import events as ev
from unhang.core.metrics import series
from unhang.jobs import reconcile
from unhang.jobs.handle import Job
from unhang.jobs.metrics import collect
from unhang.jobs.news import JobNews
from unhang.jobs.overview import Overview
from unhang.store.reader import last_event

# It says in its log that it has ended well, and then waits for a line of input.
_FORGES = r"""
import json, os, sys
path = f"{os.environ['UNHANG_HOME']}/jobs/{os.environ['UNHANG_JOB']}/events.ndjson"
end = {"seq": int(sys.argv[1]), "ts": "2026-01-02T03:04:05.000Z", "type": sys.argv[2], "phase": "completed",
       "message": "exited with 0", "status": "success", "exitCode": 0}
with open(path, "a") as log:
    log.write(json.dumps(end) + "\n")
sys.stdin.readline()
sys.exit(7)
"""
# A number behind which whatever its keeper writes is hidden from who reads by numbers.
_FAR = 1_000_000


def forger(jobs: Jobs, seq: int = 3, kind: str = ev.EXITED) -> Job:
    """A running job whose log says that it has ended, or something else."""
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "python3", "-c", _FORGES, str(seq), kind)
    wait_until(partial(last_event, job.place.events, kind), "what it has forged")
    return job


def test_a_job_that_says_in_its_log_that_it_has_ended_is_called_running_and_doctor_says_so(jobs: Jobs) -> None:
    job = forger(jobs)
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        assert overview.snapshot().entries[job.id]["status"] == "running"
    (row,) = jobs.said("ps")
    assert (row["jobId"], row["status"]) == (job.id, "running")
    assert jobs.said("status", job.id)["status"] == "running"
    assert job.result().status == "running"
    assert jobs.call("wait", "--timeout", "0.2", job.id).code == 124
    doctor = jobs.call("doctor", "--json")
    assert doctor.code != 0
    (keepers,) = [check for check in json.loads(doctor.out)["checks"] if job.id in json.dumps(check)]
    assert not keepers["ok"]
    assert jobs.call("gc", "--count", "0").code == 0
    assert not job.ended()
    assert jobs.call("send", job.id, "go on").code == 0
    assert over(job).ended()
    last = last_event(job.place.events)
    assert last is not None
    assert (last["type"], last["exitCode"]) == (ev.EXITED, 7), "the end that its keeper has recorded"


@pytest.mark.parametrize(("seq", "kind"), [(2, ev.EXITED), (3, ev.EXITED), (_FAR, ev.EXITED), (_FAR, ev.HEARTBEAT)])
def test_metrics_count_the_end_that_the_keeper_records_and_not_the_forged_one(jobs: Jobs, seq: int, kind: str) -> None:
    job = forger(jobs, seq, kind)
    for _ in range(2):
        found = collect(str(jobs.home)).counts
        assert found[series.counted(series.JOBS, "running")] == 1
        assert not any(key.startswith(series.ENDED.key) for key in found)
    assert jobs.call("send", job.id, "go on").code == 0
    assert over(job).ended()
    found = collect(str(jobs.home)).counts
    ends = {key: value for key, value in found.items() if key.startswith(f"{series.ENDED.key} ")}
    assert ends == {series.counted(series.ENDED, "error", "exit"): 1}
    assert series.counted(series.JOBS, "running") not in found


@pytest.mark.parametrize("kind", [ev.EXITED, ev.HEARTBEAT])
def test_a_job_that_hides_its_end_behind_a_higher_number_has_ended_as_its_keeper_says(jobs: Jobs, kind: str) -> None:
    job = forger(jobs, _FAR, kind)
    with Overview(str(jobs.home)) as overview:
        overview.refresh()
        assert overview.snapshot().entries[job.id]["status"] == "running"
        assert jobs.call("send", job.id, "go on").code == 0
        assert jobs.call("wait", job.id).code == 7

        def shown() -> bool:
            overview.wait(0.1)
            overview.refresh()
            return bool(overview.snapshot().entries[job.id]["exitCode"] == 7)

        wait_until(shown, "its end")
    (row,) = jobs.said("ps", "--all")
    for said in (row, jobs.said("status", job.id), jobs.said("result", job.id, code=7)):
        assert (said["status"], said["exitCode"]) == ("error", 7)


@pytest.mark.parametrize("seq", [2, _FAR])
def test_a_command_that_writes_an_end_into_its_own_log_gives_its_caller_no_other_exit_code(
    jobs: Jobs, seq: int
) -> None:
    assert jobs.run("--", "python3", "-c", _FORGES, str(seq), ev.EXITED).code == 7


@pytest.mark.parametrize(("seq", "kind"), [(2, ev.EXITED), (_FAR, ev.EXITED), (_FAR, ev.HEARTBEAT)])
def test_an_agent_is_told_of_the_end_that_the_keeper_records_and_not_of_the_forged_one(
    jobs: Jobs, seq: int, kind: str
) -> None:
    job = forger(jobs, seq, kind)
    news = JobNews(job, 0)
    news.look()
    assert (news.ended, news.untold is not None and news.untold.ends) == (False, False)
    assert jobs.call("send", job.id, "go on").code == 0
    assert over(job).ended()
    news.look(thoroughly=True)
    told = news.take()
    assert told is not None
    assert (news.ended, told.failed) == (True, True)


def test_a_job_with_a_forged_end_can_be_cancelled(jobs: Jobs) -> None:
    job = forger(jobs)
    assert jobs.call("cancel", job.id).code == 0
    assert over(job).ended()
    last = last_event(job.place.events)
    assert last is not None
    assert last["status"] == "cancelled"


def test_an_end_that_the_keeper_tells_its_caller_of_is_not_asked_for_again(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper of a short job is often still there when its caller reads the end: to look at it takes time."""
    asked: list[str] = []
    monkeypatch.setenv("UNHANG_HOME", str(jobs.home))
    monkeypatch.setattr(reconcile, "is_untrue_end", lambda place: asked.append(place.id))
    assert unhang.run(["true"]).ok
    assert asked == []
