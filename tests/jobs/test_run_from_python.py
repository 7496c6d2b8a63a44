"""`unhang.run` and `unhang.arun`: results, errors, interruptions; from threads, after a fork, without a fork server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import unhang
from tests.support.fork_servers import fork_servers
from tests.support.jobs import Jobs, actor, deserted
from unhang.procs import command_line
from unhang.store import reader
from unhang.testing.liveness import Process, RollCall


def test_the_result_of_a_command_that_succeeds_passes_check() -> None:
    result = unhang.run(["sh", "-c", "echo out; echo err >&2"])
    assert (result.ok, result.status, result.exit_code) == (True, "success", 0)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert result.check() is result


def test_a_caller_that_waited_for_the_end_does_not_wait_for_the_disk_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its keeper has synced the end before it told of it. Housekeeping syncs in a thread of its own."""
    unhang.run(["true"])  # makes the state directory, durably
    synced: list[threading.Thread] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _fd: synced.append(threading.current_thread()))
    assert unhang.run(["true"]).ok
    assert threading.current_thread() not in synced


def test_a_command_that_fails_raises_failed_with_its_result() -> None:
    result = unhang.run(["sh", "-c", "echo why >&2; exit 3"])
    assert (result.ok, result.exit_code, result.shell_code) == (False, 3, 3)
    with pytest.raises(unhang.Failed) as raised:
        result.check()
    assert raised.value.result is result
    assert result.job_id in str(raised.value)


@pytest.mark.parametrize("idle", [0.5, "500ms", timedelta(milliseconds=500)], ids=str)
def test_a_command_that_hangs_raises_timed_out(idle: Any, roll: RollCall) -> None:
    result = unhang.run(actor("ignore_term", roll.path), idle=idle, grace=0.1)
    assert (result.status, result.timeout_reason, result.shell_code) == ("timeout", "no_output_timeout", 124)
    assert deserted(roll)  # on a starved machine it may have been ended before it could call
    with pytest.raises(unhang.TimedOut) as raised:
        result.check()
    assert raised.value.exit_code == 124


def test_a_command_that_cannot_be_started_is_a_result_too() -> None:
    result = unhang.run(["no-such-command-anywhere"])
    assert (result.status, result.exit_code) == ("error", 127)
    assert result.error is not None
    assert result.error["code"] == "ESPAWN"
    with pytest.raises(unhang.Failed):
        result.check()


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": "echo"},
        {"command": []},
        {"command": ["echo"], "shell": True},
        {"command": ["a\0b"]},
        {"command": ["true"], "idle": "soon"},
        {"command": ["true"], "idle": -1},
        {"command": ["true"], "idle": float("nan")},
        {"command": ["true"], "hard": float("inf")},
        {"command": ["true"], "hard": True},
        {"command": ["true"], "liveness": "maybe"},
        {"command": ["true"], "stdin": "nonsense"},
        {"command": ["true"], "env": {"A=B": "c"}},
        {"command": ["true"], "pty": True, "input": "x"},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_a_usage_error_and_starts_nothing(jobs: Jobs, wrong: dict[str, Any]) -> None:
    with pytest.raises(unhang.UsageError) as raised:
        unhang.run(**wrong)
    assert "\n" not in str(raised.value)
    assert jobs.jobs() == []


def test_a_directory_that_is_not_there_is_a_spawn_error(jobs: Jobs, tmp_path: Path) -> None:
    with pytest.raises(unhang.SpawnError):
        unhang.run(["true"], cwd=tmp_path / "nothing")
    assert jobs.jobs() == []


def test_input_environment_directory_and_shell_are_given(tmp_path: Path) -> None:
    result = unhang.run('cat; echo "$ADDED"; pwd', shell=True, input="in\n", env={"ADDED": "yes"}, cwd=tmp_path)
    assert result.stdout == f"in\nyes\n{tmp_path}\n"


def test_input_of_many_megabytes_reaches_the_command() -> None:
    assert unhang.run(["wc", "-c"], input=b"x" * 10_000_000).stdout.strip() == "10000000"


def test_keyboard_interrupt_is_raised_after_the_job_has_ended(jobs: Jobs, roll: RollCall) -> None:
    """In a program of its own: the signal is for its main thread."""
    code = (
        "import sys, unhang\ntry:\n unhang.run(sys.argv[1:], grace=0.2)\nexcept KeyboardInterrupt:\n print('stopped')"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, *actor("setsid_child", roll.path)], stdout=subprocess.PIPE, env=jobs.env
    )
    roll.wait_for("member")
    roll.wait_for("leader")
    program.send_signal(signal.SIGINT)
    out, _ = program.communicate(timeout=60)
    assert out == b"stopped\n"
    assert roll.is_empty()
    assert jobs.events()[-1]["phase"] == "cancelled"


def test_a_program_that_is_killed_takes_its_job_and_its_fork_server_with_it(jobs: Jobs, roll: RollCall) -> None:
    code = "import sys, unhang; unhang.run(sys.argv[1:], grace=0.2)"
    program = subprocess.Popen([sys.executable, "-c", code, *actor("double_fork", roll.path)], env=jobs.env)
    roll.wait_for("member")
    roll.wait_for("leader")
    program.kill()
    program.wait(60)
    assert roll.wait_empty()
    assert jobs.left_over() == []


def test_a_job_can_be_run_from_another_thread() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(unhang.run(["echo", "hello"]).stdout))
    thread.start()
    thread.join(60)
    assert found == ["hello\n"]


def test_jobs_can_be_run_from_many_threads_at_once() -> None:
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda i: unhang.run(["echo", str(i)]), range(64)))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(64)]
    assert len({result.job_id for result in results}) == 64
    assert len(fork_servers()) == 1


def test_a_forked_copy_of_the_program_has_a_fork_server_of_its_own() -> None:
    assert unhang.run(["true"]).ok
    child = os.fork()
    if child == 0:
        try:
            ran = unhang.run(["echo", "child"]).stdout == "child\n"
            os._exit(0 if ran and len(fork_servers()) == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert unhang.run(["echo", "parent"]).stdout == "parent\n"


def test_the_next_run_works_after_the_fork_server_was_killed() -> None:
    assert unhang.run(["true"]).ok
    [server] = fork_servers()
    process = Process(server)
    process.send(signal.SIGKILL)
    assert process.wait_gone()
    assert unhang.run(["echo", "again"]).stdout == "again\n"


def test_a_job_that_was_given_to_a_dying_fork_server_is_never_called_running() -> None:
    """The request is in the server's buffer when it dies: no process will ever start it."""
    assert unhang.run(["true"]).ok
    [server] = fork_servers()
    process = Process(server)
    process.send(signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(unhang.run, ["echo", "hello"])
        while not waiting.running():
            pass
        with pytest.raises(TimeoutError):
            waiting.result(0.5)
        process.send(signal.SIGKILL)
        result = waiting.result(60)
    if not result.ok:  # it may also have been started elsewhere: then it is what it says
        assert result.status == "error"
        assert result.error is not None
        assert result.error["code"] == "ELOST"


def test_the_loss_of_the_keeper_is_a_result_too(jobs: Jobs, roll: RollCall) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(unhang.run, actor("setsid_child", roll.path))
        roll.wait_for("member")
        roll.wait_for("leader")
        jobs.keeper().send(signal.SIGKILL)
        result = waiting.result(60)
    assert (result.status, result.shell_code) == ("error", 125)
    assert result.error is not None
    assert result.error["code"] == "ELOST"
    assert roll.is_empty()


# --- asyncio ------------------------------------------------------------------------------------------------


def test_arun_gives_the_same_result() -> None:
    result = asyncio.run(unhang.arun(["sh", "-c", "echo hello; exit 4"]))
    assert (result.stdout, result.exit_code) == ("hello\n", 4)


def test_many_jobs_can_be_awaited_at_once() -> None:
    async def all_of_them() -> list[unhang.Result]:
        return await asyncio.gather(*(unhang.arun(["echo", str(i)]) for i in range(20)))

    assert [result.stdout for result in asyncio.run(all_of_them())] == [f"{i}\n" for i in range(20)]


def test_cancelling_the_task_ends_the_job_first(jobs: Jobs, roll: RollCall) -> None:
    async def cancelled() -> bool:
        task = asyncio.create_task(unhang.arun(actor("setsid_child", roll.path), grace=0.2))
        await asyncio.to_thread(roll.wait_for, "member")
        await asyncio.to_thread(roll.wait_for, "leader")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return roll.is_empty()

    assert asyncio.run(cancelled())
    assert jobs.events()[-1]["phase"] == "cancelled"


def test_a_timeout_around_arun_ends_the_job(roll: RollCall) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(None) as timeout:
            running = asyncio.create_task(asyncio.to_thread(roll.wait_for, "leader"))
            running.add_done_callback(lambda _: timeout.reschedule(asyncio.get_running_loop().time()))
            await unhang.arun(actor("ignore_term", roll.path), grace=0.2)

    with pytest.raises(TimeoutError):
        asyncio.run(bounded())
    assert roll.is_empty()


def test_a_task_that_is_cancelled_at_once_leaves_nothing(jobs: Jobs) -> None:
    async def cancelled(turns: int) -> None:
        task = asyncio.create_task(unhang.arun(["sleep", "1000"], grace=0.2))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for turns in range(4):
        asyncio.run(cancelled(turns))
    running = [command_line.of(pid) for pid in jobs.marked()]
    assert [command for command in running if "sleep" in command] == []
    assert {reader.read_all(place.events)[-1]["phase"] for place in jobs.jobs()} <= {"cancelled"}
