"""SIGKILL of a keeper, alone or with its guard, at every event and at any moment: the record becomes true."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, actor, check_log, deserted, keeper_of, kill_with_guard, left_of
from unhang.jobs import reconcile
from unhang.jobs.handle import Job
from unhang.procs import identity, markers
from unhang.procs.base import ProcessInfo
from unhang.store import reader
from unhang.store.layout import JobDir
from unhang.testing.liveness import RollCall

# every kind of event: started, output, stuck, warning, timeout, SIGTERM, SIGKILL, exited
_LIMITS = (
    *("--stall", "0.2", "--idle", "0.4", "--warn", "0.1", "--grace", "0.1", "--hard", "50"),
    *("--liveness", "output"),
)


_BOUNDARIES = 14  # such a job has eight; on a busy machine some more, when life returns between two limits


def _ended_truthfully(jobs: Jobs, job: Job, roll: RollCall, *, after: int) -> str:
    """Everything that is promised about a job whose keeper died after event `after`; which event that was."""
    known = list(roll.called)
    listed = {row["jobId"]: row for row in jobs.said("ps", "--all")}
    events = check_log(job.place)
    assert deserted(roll)
    assert not [process for process in known if process.is_alive()]
    assert left_of(job.place) == []
    killed_at = events[min(after, len(events)) - 1]
    was_over = killed_at["type"] == "job/exited"
    assert was_over or len(events) == after + 1
    phase, status = ("timed_out", "timeout") if was_over else ("lost", "error")
    row = listed[job.id]
    assert events[-1]["phase"] == phase
    assert (row["status"], row["phase"], row["endedAt"]) == (status, phase, events[-1]["ts"])
    shown = job.status()
    assert (shown["status"], shown["phase"], shown["seq"]) == (status, phase, len(events))
    result = job.result()
    assert result.error is not None
    assert result.error["code"] == ("EIDLE" if was_over else "ELOST")
    assert "ready\n".startswith(result.stdout)
    assert result.truncated is False
    # before it says so it does not ignore SIGTERM yet, on a machine where that takes longer than its limit
    by = {"SIGKILL"} if result.stdout else {"SIGKILL", "SIGTERM"}
    assert result.exit_code is None
    assert result.signal in (by if was_over else {None})
    return str(killed_at["phase"])


@pytest.mark.parametrize("who", ["keeper", "both"])
def test_a_job_whose_keeper_is_killed_after_any_event_is_recorded_as_what_it_is(jobs: Jobs, who: str) -> None:
    """`both`: the guard dies too, so that only the next look can record the loss."""
    running: list[tuple[int, subprocess.Popen[bytes], RollCall]] = []
    for number in range(1, _BOUNDARIES + 1):
        roll = jobs.roll()
        words = ("start", *_LIMITS, "--", *actor("env_cleared", roll.path))
        running.append((number, jobs.popen_program(*actor("mortal", who, number, *words)), roll))
    phases: set[str] = set()
    for number, process, roll in running:
        with roll:
            job = jobs.handle(jobs.finish(process).out.decode().strip())
            keeper, guard = keeper_of(job.place)
            assert keeper.wait_gone()
            assert guard.wait_gone()
            phases.add(_ended_truthfully(jobs, job, roll, after=number))
    # stuck, warning, timeout and timed_out too, unless the machine is so busy that some fall together
    assert {"running", "stopping"} < phases


def test_a_keeper_killed_right_after_a_record_was_seen_leaves_that_record_and_one_end(
    jobs: Jobs, roll: RollCall
) -> None:
    """No fault injected: a follower sees the event and kills."""
    job = jobs.begin(*_LIMITS, "--", *actor("double_fork", roll.path))
    keeper, _ = keeper_of(job.place)
    for event in job.watch():
        if event["phase"] == "warning":
            keeper.send(signal.SIGKILL)
            break
    result = job.wait()
    events = check_log(job.place)
    assert "warning" in [event["phase"] for event in events]
    if keeper_died_first := events[-1]["phase"] == "lost":
        assert result.error is not None
        assert result.error["code"] == "ELOST"
    assert keeper_died_first or events[-1]["phase"] == "timed_out"
    assert roll.wait_empty()


def test_keepers_killed_at_random_moments_leave_a_true_record_and_no_process(jobs: Jobs) -> None:
    """Twenty, every other one with its guard; four at a time so that slow machines reach all stages."""
    moments = random.Random(20)
    for batch in range(5):
        started: list[tuple[float, bool, subprocess.Popen[bytes]]] = []
        for number in range(4):
            when = time.monotonic() + moments.uniform(0.05, 0.9)
            started.append((when, number % 2 == 0, _start_quietly(jobs)))
        seen: set[str] = set()
        for when, with_guard, process in sorted(started, key=lambda entry: entry[0]):
            time.sleep(max(0.0, when - time.monotonic()))
            for place in [place for place in jobs.jobs() if place.id not in seen and os.path.exists(place.job)][:1]:
                seen.add(place.id)
                keeper, guard = keeper_of(place)
                if with_guard:
                    guard.send(signal.SIGSTOP)
                keeper.send(signal.SIGKILL)
                if with_guard:
                    guard.send(signal.SIGKILL)
            jobs.finish(process)
        for place in jobs.jobs():
            assert jobs.handle(place.id).wait().status != "running"
            check_log(place)
            assert left_of(place) == []
            for name in os.listdir(place.path):
                os.unlink(f"{place.path}/{name}")
            os.rmdir(place.path)
        assert seen, f"no job had begun in batch {batch}"


def _start_quietly(jobs: Jobs) -> subprocess.Popen[bytes]:
    line = "trap '' TERM; setsid sleep 1000 & echo hello; env -i sleep 1000"
    return jobs.popen("start", *_LIMITS, "--shell", line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_the_first_look_records_the_loss_and_all_others_see_the_same(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("env_cleared", roll.path))
    roll.wait_for("member")
    roll.wait_for("leader")
    keeper, guard = keeper_of(job.place)
    guard.send(signal.SIGSTOP)
    keeper.send(signal.SIGKILL)
    guard.send(signal.SIGKILL)
    looking = [jobs.popen(*words) for words in 2 * (("ps", "--json", "--all"), ("status", job.id, "--json"))]
    said = [jobs.finish(process) for process in looking]
    assert [done.code for done in said] == [0] * 4
    for done in said:
        found = json.loads(done.out)
        entry = found[0] if isinstance(found, list) else found
        assert (entry["phase"], entry["status"]) == ("lost", "error")
    events = check_log(job.place)
    assert {process.pid for process in roll.called} <= set(events[-1]["endedPids"])
    assert roll.wait_empty()


def test_a_process_that_slips_through_one_look_is_found_by_the_next(
    jobs: Jobs, roll: RollCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon being born is one: its parent was there when /proc was listed, and gone when it was looked at."""
    job = jobs.begin(*STILL, "--", *actor("env_cleared", roll.path))
    roll.wait_for("member")
    roll.wait_for("leader")
    kill_with_guard(job.place)
    looks = 0

    def find(marks: markers.Marks) -> list[ProcessInfo]:
        nonlocal looks
        looks += 1
        return [] if looks == 1 else real(marks)

    real = markers.find
    monkeypatch.setattr(markers, "find", find)
    assert reconcile.settle(job.place)
    assert roll.wait_empty()


def test_a_stranger_that_carries_a_copied_mark_outlives_the_sweep(jobs: Jobs, roll: RollCall) -> None:
    """Environments are copied (`export -p`, a systemd unit, an editor's terminal): the mark alone proves nothing."""
    job = jobs.begin(*STILL, "--", *actor("env_cleared", roll.path))
    roll.wait_for("member")
    leader = roll.wait_for("leader")
    marks = identity.environment(leader.pid)
    assert marks[markers.JOB].split(":")[-1] == job.id
    stranger = subprocess.Popen(["sleep", "1000"], env={**os.environ, markers.JOB: marks[markers.JOB]})
    kill_with_guard(job.place)
    try:
        assert job.wait().status == "error"
        assert roll.wait_empty()
        assert stranger.poll() is None
        assert stranger.pid not in check_log(job.place)[-1]["endedPids"]
    finally:
        stranger.kill()
        stranger.wait()


def test_doctor_finds_and_repairs_the_record_of_a_lost_job(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    kill_with_guard(job.place)
    report = jobs.said("doctor")
    records = next(check for check in report["checks"] if check["check"] == "records")
    assert report["ok"] is True
    assert "1 lost" in records["message"]
    assert check_log(job.place)[-1]["phase"] == "lost"
    assert roll.wait_empty()


def test_a_record_of_before_a_restart_of_the_machine_is_lost_and_no_process_with_its_pids_is_touched(
    jobs: Jobs, roll: RollCall
) -> None:
    """Its keeper's pid now belongs to a process of another boot: here a live keeper stands for it."""
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    leader = roll.wait_for("leader")
    old = JobDir(str(jobs.home), "0ld0ld0ld0")
    os.mkdir(old.path, 0o700)
    record = job.spec
    record["keeper"]["boot"] = "00000000-0000-0000-0000-000000000000"
    Path(old.job).write_text(json.dumps(record | {"id": old.id}))
    Path(old.events).write_bytes(Path(job.place.events).read_bytes())
    status = jobs.handle(old.id).status()
    assert (status["phase"], status["durationMs"]) == ("lost", None)
    took = next(line for line in jobs.call("status", old.id).out.decode().splitlines() if line.startswith("took"))
    assert took.split() == ["took", "unknown"]
    assert reconcile.MACHINE_WENT_DOWN in check_log(old)[-1]["message"]
    assert leader.is_alive()
    assert job.status()["status"] == "running"


def test_a_recycled_pid_is_not_taken_for_the_keeper(jobs: Jobs) -> None:
    """Our own pid lives, but it did not start when the keeper did."""
    job = jobs.begin("--", "true")
    job.wait()
    again = JobDir(str(jobs.home), "aga1naga1n")
    os.mkdir(again.path, 0o700)
    record = job.spec
    record["keeper"] |= {"pid": os.getpid(), "guard": os.getpid(), "start": "1", "guardStart": "1", "tag": 1}
    Path(again.job).write_text(json.dumps(record | {"id": again.id}))
    first = Path(job.place.events).read_bytes().split(b"\n")[0] + b"\n"
    Path(again.events).write_bytes(first)
    assert jobs.handle(again.id).wait(timeout=30).error == reader.read_all(again.events)[-1]["error"]
    assert check_log(again)[-1]["phase"] == "lost"
