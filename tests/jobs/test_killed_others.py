"""SIGKILL of other processes: the starter, its group, a follower, the fork server, a spare, a guard, an outer job."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import sys
import termios
import threading
from pathlib import Path

import pytest

import unhang
from tests.support.engine import read_line
from tests.support.fork_servers import fork_servers
from tests.support.jobs import STILL, Jobs, actor, check_log, deserted, keeper_of, left_of, wait_until
from unhang.jobs.handle import Job
from unhang.procs import tree
from unhang.testing.liveness import PATIENCE, Process, RollCall

_PIDFD_GETFD = 438


def _cancelled(job: Job, roll: RollCall) -> None:
    """It ran on, and its keeper still answers: that is how it is ended here."""
    assert job.status()["status"] == "running"
    assert job.cancel().status == "cancelled"
    assert check_log(job.place)[-1]["phase"] == "cancelled"
    assert roll.is_empty()


def test_a_background_job_outlives_sigkill_of_its_starter_and_its_whole_group(jobs: Jobs, roll: RollCall) -> None:
    """The starter is a shell in a group of its own; the job is started inside it."""
    words = " ".join(f"'{word}'" for word in jobs.command("start", *STILL, "--", *actor("obedient", roll.path)))
    shell = jobs.popen_program("sh", "-c", f"{words}; kill -KILL 0", process_group=0)
    done = jobs.finish(shell)
    assert done.code == -signal.SIGKILL
    leader = roll.wait_for("leader")
    assert leader.is_alive()
    _cancelled(jobs.handle(done.out.decode().strip()), roll)


def test_a_background_job_outlives_sigkill_of_the_process_that_used_the_library(jobs: Jobs, roll: RollCall) -> None:
    code = "import sys, unhang; print(unhang.start(sys.argv[1:], idle='off').id, flush=True); sys.stdin.read()"
    client = jobs.popen_program(sys.executable, "-c", code, *actor("obedient", roll.path), stdin=-1)
    assert client.stdout is not None
    job = jobs.handle(read_line(client.stdout.fileno()).decode().strip())
    leader = roll.wait_for("leader")
    client.kill()
    jobs.finish(client)
    assert leader.is_alive()
    _cancelled(job, roll)


def test_sigkill_of_a_follower_changes_nothing_for_the_job(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    follower = jobs.popen("events", job.id, "--follow", "--json")
    assert follower.stdout is not None
    assert json.loads(read_line(follower.stdout.fileno()))["type"] == "job/started"
    follower.kill()
    assert jobs.finish(follower).code == -signal.SIGKILL
    _cancelled(job, roll)


def test_a_job_outlives_sigkill_of_the_fork_server_and_the_next_one_starts_through_a_new_server(
    roll: RollCall,
) -> None:
    first = unhang.start(actor("obedient", roll.path), idle="off")
    leader = roll.wait_for("leader")
    [server] = fork_servers()
    held = Process(server)
    held.send(signal.SIGKILL)
    assert held.wait_gone()
    os.waitpid(server, 0)
    assert leader.is_alive()
    second = unhang.start(["true"])
    assert second.wait().ok
    assert fork_servers() != [server]
    _cancelled(first, roll)


def test_a_job_that_was_on_its_way_when_the_fork_server_was_killed_is_lost_at_once(jobs: Jobs) -> None:
    assert unhang.run(["true"]).ok
    [server] = fork_servers()
    os.kill(server, signal.SIGSTOP)
    started: list[Job] = []
    thread = threading.Thread(target=lambda: started.append(unhang.start(["sleep", "1000"])))
    thread.start()
    wait_until(lambda: len(jobs.jobs()) == 2, "the second job has a directory")
    wait_until(lambda: _unread(server), "the request waits in the server's queue")
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    [job] = started
    result = job.result()
    assert (result.status, (result.error or {}).get("code")) == ("error", "ELOST")
    check_log(job.place)


def _unread(pid: int, fd: int = 3) -> bool:
    """A stopped process cannot say that a request has arrived: its end of the line is asked through a copy."""
    pidfd = os.pidfd_open(pid)
    copy = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, pidfd, fd, 0)
    os.close(pidfd)
    assert copy >= 0, os.strerror(ctypes.get_errno())
    try:
        return int.from_bytes(fcntl.ioctl(copy, termios.FIONREAD, bytes(4)), sys.byteorder) > 0
    finally:
        os.close(copy)


def _spare_of(maker: int) -> tuple[Process, Process]:
    """Keeper and guard that wait for their job, below their maker."""

    def found() -> tuple[int, int] | None:
        pairs = [(keeper, guard) for guard in tree.children(maker) for keeper in tree.children(guard)]
        return pairs[0] if pairs else None

    keeper, guard = wait_until(found, "a spare")
    return Process(keeper, "keeper"), Process(guard, "guard")


def _spare_after_a_job(jobs: Jobs) -> tuple[Process, Process]:
    """The spare of the fork server of this process, which has made one job before."""
    assert unhang.run(["true"]).ok
    for process in keeper_of(jobs.jobs()[0]):
        assert process.wait_gone()
    [server] = fork_servers()
    return _spare_of(server)


def _lines(pid: int) -> list[int]:
    """The sockets of a process."""
    folder = Path(f"/proc/{pid}/fd")
    return [int(fd.name) for fd in folder.iterdir() if os.readlink(fd).startswith("socket:")]


@pytest.mark.parametrize("who", ["keeper", "guard"])
def test_a_job_runs_once_although_the_spare_that_waited_for_it_was_killed(jobs: Jobs, tmp_path: Path, who: str) -> None:
    keeper, guard = _spare_after_a_job(jobs)
    killed = keeper if who == "keeper" else guard
    killed.send(signal.SIGKILL)
    assert killed.wait_gone()
    assert unhang.run(f"echo ran >> {tmp_path}/witness", shell=True).ok
    assert (tmp_path / "witness").read_text() == "ran\n"


def test_a_job_runs_once_although_its_keeper_was_killed_before_it_took_the_job(jobs: Jobs, tmp_path: Path) -> None:
    """Stopped, the spare leaves the job in the buffer of its line; then it is killed."""
    keeper, guard = _spare_after_a_job(jobs)
    keeper.send(signal.SIGSTOP)
    results: list[unhang.Result] = []
    command = f"echo ran >> {tmp_path}/witness"
    thread = threading.Thread(target=lambda: results.append(unhang.run(command, shell=True)))
    thread.start()
    wait_until(lambda: any(_unread(keeper.pid, fd) for fd in _lines(keeper.pid)), "the job waits in its line")
    keeper.send(signal.SIGKILL)
    thread.join(PATIENCE)
    assert [result.status for result in results] == ["success"]
    assert (tmp_path / "witness").read_text() == "ran\n"
    assert guard.wait_gone()


@pytest.mark.parametrize("who", ["keeper", "guard"])
def test_a_command_line_whose_spare_was_killed_forks_another_one(jobs: Jobs, who: str) -> None:
    program = (
        "import os, signal, sys\n"
        "from unhang.jobs import launcher as launching\n"
        "from unhang.jobs.request import prepare\n"
        "launcher = launching.ForkingLauncher()\n"
        "print(launcher._spare.guard, flush=True)\n"
        "sys.stdin.readline()\n"
        "prepared = prepare(['echo', 'ran'], stdin='null')\n"
        "connection = launcher.launch(os.environ['UNHANG_HOME'], prepared, launching.CallerStreams(None, 1, 2))\n"
        "connection.wait_until_closed()\n"
        "connection.wait_for_guard()\n"
        "print(connection.outcome()['phase'], flush=True)\n"
    )
    maker = jobs.popen_program(sys.executable, "-c", program, stdin=-1)
    assert maker.stdin is not None
    assert maker.stdout is not None
    read_line(maker.stdout.fileno())
    keeper, guard = _spare_of(maker.pid)
    killed = keeper if who == "keeper" else guard
    killed.send(signal.SIGKILL)
    assert killed.wait_gone()
    maker.stdin.write(b"\n")
    maker.stdin.flush()
    assert jobs.finish(maker).out.split() == [b"ran", b"completed"]


def test_a_job_runs_on_without_its_guard_and_is_still_found_when_its_keeper_dies_too(
    jobs: Jobs, roll: RollCall
) -> None:
    job = jobs.begin(*STILL, "--", *actor("env_cleared", roll.path))
    leader, member = roll.wait_for("leader"), roll.wait_for("member")
    keeper, guard = keeper_of(job.place)
    guard.send(signal.SIGKILL)
    assert guard.wait_gone()
    assert jobs.said("status", job.id)["status"] == "running"
    assert leader.is_alive()
    assert member.is_alive()
    keeper.send(signal.SIGKILL)
    assert keeper.wait_gone()
    assert job.wait().error == check_log(job.place)[-1]["error"]
    assert roll.wait_empty()


def _inner(jobs: Jobs, outer: Job) -> Job:
    def found() -> Job | None:
        return next((jobs.handle(p.id) for p in jobs.jobs() if p.id != outer.id and os.path.exists(p.job)), None)

    job = wait_until(found, "the inner job")
    assert isinstance(job, Job)
    return job


def test_a_job_started_inside_a_job_ends_with_it(jobs: Jobs, roll: RollCall) -> None:
    """The inner one is a background job, daemonises itself and clears its environment."""
    inner = jobs.command("start", "--grace", "0.2", *STILL, "--", *actor("env_cleared", roll.path))
    line = " ".join(f"'{word}'" for word in inner)
    outer = jobs.begin("--grace", "5", *STILL, "--shell", f"{line}; sleep 1000")
    roll.wait_for("leader")
    roll.wait_for("member")
    nested = _inner(jobs, outer)
    assert nested.spec["keeper"]["parents"] == outer.id
    assert outer.cancel().status == "cancelled"
    assert roll.wait_empty()
    assert nested.result().status == "cancelled"
    check_log(nested.place)
    assert left_of(outer.place) == left_of(nested.place) == []


def test_a_job_inside_a_job_ends_when_the_outer_keeper_is_killed(jobs: Jobs, roll: RollCall) -> None:
    inner = jobs.command("start", *STILL, "--", *actor("double_fork", roll.path))
    outer = jobs.begin(*STILL, "--shell", " ".join(f"'{word}'" for word in inner) + "; sleep 1000")
    roll.wait_for("leader")
    roll.wait_for("member")
    keeper, _ = keeper_of(outer.place)
    keeper.send(signal.SIGKILL)
    assert outer.wait().status == "error"
    assert roll.wait_empty()
    nested = _inner(jobs, outer)
    assert nested.wait().status in ("cancelled", "error")
    check_log(outer.place)
    check_log(nested.place)


def test_a_job_inside_a_job_is_ended_when_keeper_and_guard_of_the_outer_are_killed(jobs: Jobs, roll: RollCall) -> None:
    """The hardest to find: a daemon with an empty environment, below a keeper that dies by the sweep itself."""
    inner = jobs.command("start", *STILL, "--", *actor("env_cleared", roll.path))
    outer = jobs.begin(*STILL, "--shell", " ".join(f"'{word}'" for word in inner) + "; sleep 1000")
    roll.wait_for("leader")
    roll.wait_for("member")
    nested = _inner(jobs, outer)
    keeper, guard = keeper_of(outer.place)
    guard.send(signal.SIGSTOP)
    keeper.send(signal.SIGKILL)
    guard.send(signal.SIGKILL)
    assert guard.wait_gone()
    assert jobs.said("status", outer.id)["phase"] == "lost"
    assert deserted(roll)
    assert check_log(nested.place)[-1]["phase"] == "lost"
    assert left_of(outer.place) == left_of(nested.place) == []


def test_a_fork_server_that_cannot_be_started_is_an_error_in_one_line(jobs: Jobs) -> None:
    code = (
        "import sys, unhang; sys.executable = '/nonexistent/python'\n"
        "try: unhang.start(['true'])\n"
        "except unhang.UnhangError as error: print(error)"
    )
    done = jobs.finish(jobs.popen_program(sys.executable, "-c", code))
    assert (done.code, done.err) == (0, b"")
    [line] = done.out.splitlines()
    assert b"fork server" in line
