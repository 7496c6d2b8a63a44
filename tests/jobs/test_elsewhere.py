"""What cannot be seen is not judged: a job in a container, on another machine, or looked at without /proc lives on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of, wait_until
from tests.support.namespaces import (
    in_another_boot,
    in_pid_namespace,
    in_time_namespace,
    need_namespaces,
    without_proc,
)
from unhang.jobs.handle import Job
from unhang.store.layout import JobDir
from unhang.testing.liveness import RollCall

pytestmark = pytest.mark.usefixtures("_namespaces")

_WAYS = ("pid namespace", "pid namespace with the host's /proc", "no /proc", "another boot", "time namespace")


@pytest.fixture
def _namespaces() -> None:
    need_namespaces()


def _from(way: str, jobs: Jobs, *words: object) -> list[str]:
    command = jobs.command(*words)
    match way:
        case "pid namespace":
            return in_pid_namespace(command)
        case "pid namespace with the host's /proc":
            return in_pid_namespace(command, own_proc=False)
        case "no /proc":
            return without_proc(command)
        case "time namespace":
            return in_time_namespace(command)
        case _:
            return in_another_boot(command, jobs.folder)


def _files(place: JobDir) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in Path(place.path).iterdir() if entry.is_file()}


@pytest.mark.parametrize("way", _WAYS)
def test_a_look_from_elsewhere_shows_the_job_there_and_changes_nothing(way: str, jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    leader = roll.wait_for("leader")
    keeper, guard = keeper_of(job.place)
    wait_until(lambda: len(job.events()) == 2, "it has started and said so")
    before = _files(job.place)
    for words in (("ps", "--all", "--json"), ("gc", "--age", "0s", "--json"), ("doctor", "--json"), ("history",)):
        done = jobs.finish(jobs.popen_program(*_from(way, jobs, *words)))
        if words[0] == "ps":
            [row] = json.loads(done.out)
            assert (row["status"], row["phase"], row["endedAt"]) == ("running", "elsewhere", None)
            assert row["where"]
    shown = json.loads(jobs.finish(jobs.popen_program(*_from(way, jobs, "status", "--json", job.id))).out)
    assert (shown["status"], shown["phase"]) == ("running", "elsewhere")
    assert shown["where"]
    assert _files(job.place) == before
    assert keeper.is_alive()
    assert guard.is_alive()
    assert leader.is_alive()
    assert jobs.said("status", job.id)["phase"] == "running"


@pytest.mark.parametrize("way", ["pid namespace", "another boot", "time namespace"])
def test_a_job_elsewhere_is_cancelled_over_its_socket(way: str, jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("setsid_child", roll.path))
    roll.wait_for("leader")
    done = jobs.finish(jobs.popen_program(*_from(way, jobs, "cancel", job.id)))
    assert done.code == 0, done.err
    assert roll.wait_empty()
    assert check_log(job.place)[-1]["phase"] == "cancelled"


def test_a_job_elsewhere_that_cannot_be_reached_is_not_cancelled_and_the_error_says_where(
    jobs: Jobs, roll: RollCall
) -> None:
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    leader = roll.wait_for("leader")
    os.unlink(job.place.control)
    for words in (("cancel", job.id), ("cancel", "--force", job.id), ("diagnose", job.id)):
        done = jobs.finish(jobs.popen_program(*_from("pid namespace", jobs, *words)))
        assert done.code == 125
        [line] = done.err.decode().splitlines()
        assert "elsewhere" in line
        assert "pid:[" in line
    assert leader.is_alive()


def test_a_job_in_a_container_survives_every_look_of_its_host(jobs: Jobs, roll: RollCall) -> None:
    """Its marks are on processes that the host sees, and its keeper's pid names another process of the host's."""
    inside = jobs.command("run", *STILL, "--", *actor("env_cleared", roll.path))
    container = jobs.popen_program(*in_pid_namespace(inside))
    roll.wait_for("leader")
    roll.wait_for("member")
    place = jobs.job()
    [row] = jobs.said("ps", "--all")
    assert (row["phase"], row["jobId"]) == ("elsewhere", place.id)
    assert jobs.call("gc", "--age", "0s").code == 0
    assert jobs.call("doctor").code == 0
    assert not roll.is_empty()  # their pids are of the container: only the roll itself can tell
    assert jobs.call("cancel", place.id).code == 0
    assert jobs.finish(container).code == 130
    assert check_log(place)[-1]["phase"] == "cancelled"


def test_a_job_in_a_time_namespace_survives_every_look_from_outside(jobs: Jobs, roll: RollCall) -> None:
    """Its keeper has the pid that is written down, and by the clock out here another start time."""
    inside = jobs.popen_program(*in_time_namespace(jobs.command("run", *STILL, "--", *actor("obedient", roll.path))))
    leader = roll.wait_for("leader")
    place = jobs.job()
    wait_until(lambda: len(Job(place).events()) == 2, "it has started and said so")
    before = _files(place)
    [row] = jobs.said("ps", "--all")
    assert (row["phase"], row["status"], row["endedAt"]) == ("elsewhere", "running", None)
    assert "time:[" in row["where"]
    assert jobs.said("status", place.id)["phase"] == "elsewhere"
    assert jobs.call("wait", "--timeout", "0.1", place.id).code == 124
    assert jobs.said("result", place.id)["status"] == "running"
    for words in (("doctor",), ("gc", "--age", "0s"), ("history",)):
        assert jobs.call(*words).code == 0
    assert _files(place) == before
    assert leader.is_alive()
    assert jobs.call("cancel", place.id).code == 0
    assert roll.wait_empty()
    assert jobs.finish(inside).code == 130
    assert check_log(place)[-1]["phase"] == "cancelled"
    assert place.id in jobs.said("gc", "--age", "0s")["removed"]


def test_in_a_time_namespace_the_limits_hold(jobs: Jobs, roll: RollCall) -> None:
    inside = jobs.command("run", "--hard", "5", "--grace", "0.3", "--", *actor("env_cleared", roll.path))
    done = jobs.finish(jobs.popen_program(*in_time_namespace(inside)))
    assert done.code == 124, done.err
    assert roll.wait_empty()
    end = check_log(jobs.job())[-1]
    assert (end["phase"], end.get("unseen")) == ("timed_out", None)
    assert 5000 <= end["durationMs"] < 60_000


def test_a_job_whose_container_is_gone_is_given_up_by_force_and_not_before(jobs: Jobs, roll: RollCall) -> None:
    inside = jobs.command("run", *STILL, "--", *actor("ignore_term", roll.path))
    container = jobs.popen_program(*in_pid_namespace(inside), start_new_session=True)
    roll.wait_for("leader")
    place = jobs.job()
    os.killpg(container.pid, signal.SIGKILL)  # with its first process the kernel ends the whole namespace
    assert roll.wait_empty()
    jobs.finish(container)
    assert [row["phase"] for row in jobs.said("ps", "--all")] == ["elsewhere"]
    assert "elsewhere" in jobs.refused("cancel", place.id)
    assert jobs.call("cancel", "--force", place.id).code == 0
    end = check_log(place)[-1]
    assert (end["phase"], end["endedPids"]) == ("lost", [])


def test_a_follower_elsewhere_sees_the_end(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    follower = jobs.popen_program(*_from("pid namespace", jobs, "events", "--follow", "--json", job.id))
    assert follower.stdout is not None
    assert json.loads(follower.stdout.readline())["type"] == "job/started"
    Job(job.place).cancel(force=True)
    events = [json.loads(line) for line in jobs.finish(follower).out.splitlines()]
    assert events[-1]["type"] == "job/exited"


def test_the_stream_of_a_session_elsewhere_is_kept_while_this_boot_lasts(jobs: Jobs) -> None:
    """Its pid means nothing here; a session that no process has any more is let go as ever."""
    hook = '{"session_id":"%s","hook_event_name":"Stop","cwd":"/"}'
    hook_command = jobs.command("hook")
    ways = {"there": in_pid_namespace(hook_command), "ahead": in_time_namespace(hook_command), "here": hook_command}
    for name, command in ways.items():
        hooked = jobs.popen_program(*command, stdin=subprocess.PIPE, env=jobs.env | {"UNHANG_WATCH": "off"})
        out, err = hooked.communicate((hook % name).encode(), timeout=60)
        assert (hooked.returncode, out, err) == (0, b"", b"")
    jobs.said("gc", "--age", "0s")
    assert sorted(entry.name for entry in (jobs.home / "sessions").iterdir()) == ["ahead", "there"]


def test_in_a_pid_namespace_with_the_hosts_proc_a_job_is_ended_at_its_limit_and_no_stranger_is_taken_for_it(
    jobs: Jobs, roll: RollCall
) -> None:
    """Every number in that /proc names another process than the keeper means."""
    inside = jobs.command("run", "--hard", "5", "--grace", "0.3", "--", *actor("env_cleared", roll.path))
    done = jobs.finish(jobs.popen_program(*in_pid_namespace(inside, own_proc=False)))
    assert done.code == 124, done.err
    assert roll.wait_empty()
    events = check_log(jobs.job())
    assert events[-1]["phase"] == "timed_out"
    assert next(event for event in events if event["type"] == "signal")["unseen"]
    assert json.loads((Path(jobs.job().path) / "job.json").read_text())["keeper"]["start"] is None
