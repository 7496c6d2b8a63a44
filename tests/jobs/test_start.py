"""`unhang start`: returns at once with an id, holds nothing of its caller's, and survives its terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import read_line
from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of, over, wait_until
from unhang.jobs.listing import list_jobs
from unhang.jobs.request import prepare
from unhang.jobs.start import start
from unhang.store import files
from unhang.testing.liveness import PATIENCE, Process, RollCall


def test_start_prints_the_id_and_nothing_else_while_the_job_goes_on(jobs: Jobs, roll: RollCall) -> None:
    done = jobs.call("start", *STILL, "--", *actor("obedient", roll.path))
    assert (done.code, done.err) == (0, b"")
    job = jobs.handle(done.out.decode().rstrip("\n"))
    assert done.out == f"{job.id}\n".encode()
    leader = roll.wait_for("leader")
    assert leader.is_alive()
    shown = jobs.said("status", job.id)
    assert (shown["status"], shown["phase"], shown["exitCode"]) == ("running", "running", None)
    assert shown["pid"] == leader.pid
    assert {"startedAt", "lastActivityAt", "seq", "limits", "durationMs"} <= shown.keys()


def test_a_shell_that_captures_the_id_does_not_wait_for_the_job(jobs: Jobs, roll: RollCall) -> None:
    """The job holds neither the caller's pipe nor its stdin, nor any other descriptor of it."""
    command = " ".join(f"'{word}'" for word in jobs.command("start", *STILL, "--", *actor("obedient", roll.path)))
    read_end, write_end = os.pipe()
    shell = jobs.popen_program("sh", "-c", f'job=$({command} 2>&1); echo "got $job"', pass_fds=(write_end,), stdin=-1)
    os.close(write_end)
    done = jobs.finish(shell)
    assert done.out.startswith(b"got ")
    roll.wait_for("leader")
    assert os.read(read_end, 1) == b"", "a process of the job holds the caller's pipe"
    os.close(read_end)
    job = jobs.handle(done.out.split()[1].decode())
    assert job.status()["status"] == "running"
    keeper, guard = keeper_of(job.place)
    for process in (keeper, guard):
        names = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in (0, 1, 2)]
        assert names == [os.devnull] * 3


def test_a_job_outlives_the_terminal_it_was_started_from(jobs: Jobs, roll: RollCall) -> None:
    master, slave = pty.openpty()
    shell = jobs.popen_program(
        sys.executable,
        "-c",
        "import fcntl, subprocess, sys, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "subprocess.run(sys.argv[1:], check=True)\nsys.stdin.read()",
        *jobs.command("start", *STILL, "--", *actor("double_fork", roll.path)),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    job = jobs.handle(read_line(master).decode().strip())
    roll.wait_for("member")
    os.close(master)  # the kernel hangs up: SIGHUP to the session
    assert shell.wait(PATIENCE) in (-signal.SIGHUP, 1, 0)
    assert all(process.is_alive() for process in roll.called)
    assert jobs.said("status", job.id)["status"] == "running"
    assert jobs.call("cancel", job.id, "--force").code == 0
    assert check_log(job.place)[-1]["phase"] == "cancelled"
    assert roll.is_empty()


def test_keeper_guard_and_job_are_in_sessions_of_their_own(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    leader = roll.wait_for("leader")
    keeper, guard = keeper_of(job.place)
    assert os.getsid(leader.pid) == leader.pid
    assert os.getsid(guard.pid) == guard.pid == os.getsid(keeper.pid)
    assert os.getsid(0) not in (leader.pid, guard.pid)


def test_a_command_that_cannot_be_started_is_one_line_and_the_shells_exit_code(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("not a program")
    assert "no-such-command-anywhere" in jobs.refused("start", "--", "no-such-command-anywhere", code=127)
    assert str(tmp_path / "plain") in jobs.refused("start", "--", tmp_path / "plain", code=126)
    for place in jobs.jobs():
        last = check_log(place)[-1]
        assert (last["phase"], last["error"]["code"]) == ("failed", "ESPAWN")


def test_start_with_json_says_where_the_job_stands(jobs: Jobs, roll: RollCall) -> None:
    done = jobs.call("start", "--json", *STILL, "--label", "a=b", "--", *actor("obedient", roll.path))
    shown = json.loads(done.out)
    assert shown["status"] == "running"
    assert jobs.said("ps", "--label", "a=b")[0]["jobId"] == shown["jobId"]


def test_the_record_says_what_was_asked_and_is_private(jobs: Jobs, tmp_path: Path) -> None:
    job = jobs.begin("--cwd", tmp_path, "--hard", "10s", "--label", "x=y", "--shell", "echo $PWD", "--env", "A=1")
    assert job.wait().stdout == f"{tmp_path}\n"
    record = files.read_json(job.place.job)
    assert record is not None
    assert (record["v"], record["shell"], record["cwd"], record["labels"]) == (
        1,
        "echo $PWD",
        str(tmp_path),
        {"x": "y"},
    )
    assert record["sources"]["hardMs"] == {"value": 10000, "source": "argument"}
    for path in Path(over(job).place.path).iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_stdin_is_a_file_where_one_is_named_and_nothing_otherwise(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("from a file\n")
    assert jobs.begin("--stdin", f"@{tmp_path / 'input'}", "--", "cat").wait().stdout == "from a file\n"
    typed = jobs.call("start", "--", "cat", stdin=subprocess.PIPE)  # whoever types next does not type into the job
    assert jobs.handle(typed.out.decode().strip()).wait().stdout == ""


def test_sigterm_to_a_keeper_ends_the_tree_and_is_recorded_before_the_keeper_exits(jobs: Jobs, roll: RollCall) -> None:
    """SIGTERM to a keeper is a request to cancel: the tree is ended and recorded before it goes."""
    job = jobs.begin(*STILL, "--grace", "0.2", "--", *actor("double_fork", roll.path))
    roll.wait_for("member")
    keeper, guard = keeper_of(job.place)
    guard.send(signal.SIGTERM)
    keeper.send(signal.SIGTERM)
    assert job.wait().status == "cancelled"
    assert check_log(job.place)[-1]["cancelledBy"] == "SIGTERM"
    assert keeper.wait_gone()
    assert guard.wait_gone()
    assert roll.is_empty()


def test_a_stopped_starter_does_not_hold_the_job_up(jobs: Jobs, roll: RollCall) -> None:
    starter = jobs.popen("start", *STILL, "--stdin", "pipe", "--", *actor("puppet", roll.path))
    leader = roll.wait_for("leader")
    held = Process(starter.pid)
    held.send(signal.SIGSTOP)
    [place] = jobs.jobs()
    job = jobs.handle(place.id)
    wait_until(lambda: os.path.exists(place.control), "its socket")
    job.send("exit 0\n")
    assert leader.wait_gone()
    assert job.wait().ok
    held.send(signal.SIGCONT)
    assert jobs.finish(starter).code == 0


def test_a_job_of_the_foreground_is_not_started_to_outlive_its_caller(jobs: Jobs) -> None:
    """Its end is tied to the connection: it would be cancelled as soon as `start` returns."""
    with pytest.raises(ValueError, match="foreground=False"):
        start(prepare(["true"]))
    assert list_jobs(str(jobs.home)) == []
    assert start(prepare(["true"], foreground=False)).wait(PATIENCE).ok
