"""Reading events from a cursor, following them, and waiting: an end can be asked for again and again."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import unhang
from tests.support.engine import read_line
from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of
from unhang.core import events as ev
from unhang.jobs.handle import Job
from unhang.procs import clock
from unhang.store import reader
from unhang.store.event_log import EventLog
from unhang.testing.liveness import PATIENCE, RollCall


def _seqs(jobs: Jobs, *words: object) -> list[int]:
    done = jobs.call("events", *words, "--json")
    assert (done.code, done.err) == (0, b"")
    return [json.loads(line)["seq"] for line in done.out.splitlines()]


@pytest.fixture
def ended(jobs: Jobs) -> Job:
    job = jobs.begin("--", "sh", "-c", "echo one; echo two >&2; exit 4")
    assert job.wait().exit_code == 4
    return job


def test_events_are_those_after_the_cursor_in_order_and_at_most_as_many_as_asked_for(jobs: Jobs, ended: Job) -> None:
    last = len(check_log(ended.place))
    assert _seqs(jobs, ended.id) == list(range(1, last + 1))
    assert _seqs(jobs, ended.id, "--after-seq", 0) == list(range(1, last + 1))
    assert _seqs(jobs, ended.id, "--after-seq", 1) == list(range(2, last + 1))
    assert _seqs(jobs, ended.id, "--after-seq", 1, "--limit", 1) == [2]
    assert _seqs(jobs, ended.id, "--limit", 0) == []
    assert _seqs(jobs, ended.id, "--after-seq", last) == []
    assert _seqs(jobs, ended.id, "--after-seq", 10**9) == []


def test_in_an_envelope_the_events_are_one_object(jobs: Jobs, ended: Job) -> None:
    events = check_log(ended.place)
    whole = jobs.said("events", ended.id, "--envelope")
    assert whole == {"jobId": ended.id, "eventsFile": ended.place.events, "count": len(events), "events": events}
    part = jobs.said("events", ended.id, "--after-seq", 1, "--limit", 2, "--envelope")
    assert (part["count"], part["events"]) == (2, events[1:3])
    none = jobs.said("events", ended.id, "--after-seq", 10**9, "--envelope")
    assert (none["count"], none["events"]) == (0, [])


def test_a_cursor_wins_over_a_time(jobs: Jobs, ended: Job) -> None:
    last = len(check_log(ended.place))
    assert _seqs(jobs, ended.id, "--since", "2099-01-01T00:00:00Z") == []
    assert _seqs(jobs, ended.id, "--since", "2001-01-01T00:00:00Z", "--limit", 2) == [1, 2]
    assert _seqs(jobs, ended.id, "--since", "2099-01-01T00:00:00Z", "--after-seq", 0) == list(range(1, last + 1))
    assert _seqs(jobs, ended.id, "--since", "2099-01-01T00:00:00Z", "--after-seq", 1, "--follow")[0] == 2


def test_since_means_later_than_that_moment_in_any_zone(jobs: Jobs, ended: Job) -> None:
    log = EventLog(ended.place.events + ".new", lambda: stamps.pop(0))
    stamps = [f"2026-01-02T03:04:0{n}.000Z" for n in range(1, 4)]
    log.append(ev.started(1, "x", {}))
    log.append(ev.output("stdout", 1, 0))
    log.append_last(ev.exited("completed", "", {"status": "success", "exitCode": 0}))
    log.close()
    Path(ended.place.events + ".new").replace(ended.place.events)
    assert _seqs(jobs, ended.id, "--since", "2026-01-02T03:04:01.500Z") == [2, 3]
    assert _seqs(jobs, ended.id, "--since", "2026-01-02T03:04:02Z") == [3]
    assert _seqs(jobs, ended.id, "--since", "2026-01-02T04:04:02+01:00") == [3]


def test_following_an_ended_job_ends_at_once(jobs: Jobs, ended: Job) -> None:
    last = len(check_log(ended.place))
    assert _seqs(jobs, ended.id, "--follow") == list(range(1, last + 1))
    assert _seqs(jobs, ended.id, "--follow", "--after-seq", last) == []
    assert _seqs(jobs, ended.id, "--follow", "--after-seq", 10**9) == []


def test_following_with_a_limit_ends_with_the_last_event_asked_for(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--stall", "off", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    assert _seqs(jobs, job.id, "--follow", "--limit", 1) == [1]
    assert _seqs(jobs, job.id, "--follow", "--limit", 0) == []
    assert job.status()["status"] == "running"


def test_a_follower_prints_an_event_soon_after_it_happened(jobs: Jobs, roll: RollCall) -> None:
    """The bound is generous; `make bench` has the strict one."""
    job = jobs.begin(*STILL, "--stdin", "pipe", "--stall", "off", "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    follower = jobs.popen("events", job.id, "--follow", "--json")
    assert follower.stdout is not None
    fd = follower.stdout.fileno()
    assert json.loads(read_line(fd))["seq"] == 1
    latencies: list[float] = []
    for _ in range(10):
        asked = time.monotonic()
        job.extend(hard=1)
        assert json.loads(read_line(fd))["phase"] == "extended"
        latencies.append(time.monotonic() - asked)
    assert sorted(latencies)[5] < 0.5
    job.cancel()
    jobs.finish(follower)


def test_a_waiter_does_not_spin_while_the_job_floods(jobs: Jobs) -> None:
    job = jobs.begin("--hard", "1.5", "--grace", "0.1", "--", "sh", "-c", "trap '' TERM; exec cat /dev/zero")
    waiting = jobs.popen_program(
        "sh", "-c", '"$@"; times', "sh", *jobs.command("wait", job.id), stderr=subprocess.DEVNULL
    )
    out = jobs.finish(waiting).out.decode()
    user, system = out.splitlines()[1].split()
    spent = sum(float(part[:-1].split("m")[1]) for part in (user, system))
    assert spent < 0.6, f"a second of flood cost the waiter {spent} s"
    assert job.result().status == "timeout"


def test_reading_from_a_cursor_finds_its_place_in_any_log(tmp_path: Path) -> None:
    """By bisection: lines of every length, the cursor at every kind of place."""
    path = str(tmp_path / "log")
    log = EventLog(path, clock.now)
    for number in range(3000):
        log.append({"type": "agent", "phase": "running", "message": "x" * (number * 37 % 3900)})
    log.close()
    for after in [*range(0, 3000, 131), 1, 2998, 2999, 3000, 9999]:
        with reader.EventReader(path, after_seq=after) as cursor:
            found = [event["seq"] for event in cursor.read_new(7)]
        assert found == list(range(after + 1, min(after + 7, 3000) + 1))


def test_wait_answers_for_a_job_that_has_long_ended_again_and_again(jobs: Jobs, ended: Job) -> None:
    for options in ((), ("--timeout", "0"), ("--timeout", "10"), ("--any",)):
        done = jobs.call("wait", ended.id, *options)
        assert (done.code, done.err) == (4, b"")
        assert done.out.decode().split() == ([ended.id] if "--any" in options else [])
    for _ in range(3):
        assert ended.wait().exit_code == 4
        assert [job.id for job in unhang.wait_any([ended], timeout=0)] == [ended.id]
        assert jobs.said("result", ended.id, code=4)["exitCode"] == 4


def test_wait_any_ends_with_the_first_and_says_which(jobs: Jobs, roll: RollCall) -> None:
    lasting = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    second = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    waiting = jobs.popen("wait", "--any", lasting.id, second.id)
    second.send("exit 9\n")
    done = jobs.finish(waiting)
    assert (done.code, done.out.decode()) == (9, f"{second.id}\n")
    assert [job.id for job in unhang.wait_any([lasting, second])] == [second.id]
    assert lasting.status()["status"] == "running"


def test_wait_for_several_ends_with_the_last_and_exits_as_the_first_that_failed(jobs: Jobs, roll: RollCall) -> None:
    first = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    second = jobs.begin("--", "sh", "-c", "exit 3")
    waiting = jobs.popen("wait", first.id, second.id, "--json")
    first.send("exit 5\n")
    done = jobs.finish(waiting)
    assert done.code == 5
    assert [json.loads(line)["exitCode"] for line in done.out.splitlines()] == [5, 3]


def test_wait_gives_up_after_its_time_and_the_job_goes_on(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    leader = roll.wait_for("leader")
    for options in (("--timeout", "0.2"), ("--any", "--timeout", "200ms"), ("--timeout", "0")):
        done = jobs.call("wait", job.id, *options)
        assert (done.code, done.out, job.id in done.err.decode()) == (124, b"", True)
    assert job.wait(timeout=0.05).status == "running"
    assert unhang.wait_any([job], timeout=0.05) == []
    assert leader.is_alive()


def test_events_follow_into_head_ends_quietly_and_at_once(jobs: Jobs, roll: RollCall) -> None:
    """Nothing more happens to the job: only the missing reader can end the follower."""
    job = jobs.begin(*STILL, "--stall", "off", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    for words in (("events", job.id, "--follow"), ("logs", job.id, "--follow")):
        following = jobs.popen(*words)
        assert following.stdout is not None
        assert read_line(following.stdout.fileno())
        following.stdout.close()
        assert following.wait(PATIENCE) == 141
        assert following.stderr is not None
        assert following.stderr.read() == b""
    assert job.status()["status"] == "running"


def test_a_follower_of_a_job_whose_folder_is_deleted_ends(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    leader = roll.wait_for("leader")
    keeper, _ = keeper_of(job.place)
    following = jobs.popen("events", "--follow", job.id)
    assert following.stdout is not None
    read_line(following.stdout.fileno())
    threading.Thread(target=shutil.rmtree, args=(job.place.path, True)).start()
    jobs.finish(following, PATIENCE)
    keeper.send(15)
    assert keeper.wait_gone()
    assert leader.wait_gone()


def test_events_are_shown_in_the_time_of_the_person_and_in_utc_where_that_is_asked_for(jobs: Jobs) -> None:
    job = jobs.begin("--", "true")
    job.wait()
    at = datetime.fromisoformat(job.events()[0]["ts"])
    far = jobs.env | {"TZ": "FAR-11"}  # eleven hours ahead of UTC
    shown = {
        words: jobs.call("events", job.id, *words, env=far).out.decode().splitlines()[0] for words in ((), ("--utc",))
    }
    local = at + timedelta(hours=11)
    assert f" {local:%H:%M:%S}.{local.microsecond // 1000:03} " in shown[()]
    assert f" {at:%H:%M:%S}.{at.microsecond // 1000:03}Z " in shown[("--utc",)]
