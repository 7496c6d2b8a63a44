"""The Python face: the same jobs, sync and async, from threads, after a fork, and by id from anywhere."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import Any

import pytest

import unhang
from tests.support.fork_servers import fork_servers
from tests.support.jobs import Jobs, actor, check_log
from unhang.jobs import start
from unhang.testing.liveness import PATIENCE, RollCall


def test_a_job_is_started_followed_talked_to_and_waited_for(roll: RollCall) -> None:
    job = unhang.start(actor("puppet", roll.path), stdin="pipe", idle="off", labels={"a": "b"})
    roll.wait_for("leader")
    assert not job.ended()
    assert job.result().status == "running"
    job.extend(hard="1h")
    with pytest.raises(unhang.ControlError, match="idle"):
        job.extend(idle=5)
    job.send("print hello\n")
    roll.wait_for("print hello")
    job.send("exit 3\n")
    seen = list(job.watch())
    assert seen == check_log(job.place) == job.events()
    result = job.wait()
    assert (result.status, result.exit_code, result.stdout) == ("error", 3, "hello\n")
    with pytest.raises(unhang.Failed) as failure:
        result.check()
    assert failure.value.result is result
    assert job.ended()
    assert job.cancel().exit_code == 3
    with pytest.raises(unhang.ControlError, match="has ended"):
        job.send("x")


def test_the_async_functions_start_follow_and_wait_without_blocking_the_loop(roll: RollCall) -> None:
    async def play() -> tuple[unhang.Job, list[dict[str, Any]], unhang.Result]:
        job = await unhang.astart(actor("puppet", roll.path), stdin="pipe", idle="off")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        following = asyncio.create_task(_collect(job))
        await asyncio.to_thread(roll.wait_for, "leader")
        job.send("print hello\nexit 0\n")
        events = await asyncio.wait_for(following, PATIENCE)
        result = await job.wait_async()
        ticking.cancel()
        assert ticks > 1, "the loop stood still"
        return job, events, result

    job, events, result = asyncio.run(play())
    assert result.ok
    assert events == check_log(job.place)


async def _collect(job: unhang.Job, after: int = 0) -> list[dict[str, Any]]:
    return [event async for event in job.follow(after_seq=after)]


def test_several_tasks_follow_one_job_from_different_cursors(roll: RollCall) -> None:
    job = unhang.start(actor("puppet", roll.path), stdin="pipe", idle="off")
    roll.wait_for("leader")

    async def play() -> list[list[dict[str, Any]]]:
        following = [asyncio.create_task(_collect(job, after)) for after in (0, 1, 2, 10**6)]
        await asyncio.to_thread(job.extend, hard=5)
        await asyncio.to_thread(job.send, "exit 0\n")
        return await asyncio.wait_for(asyncio.gather(*following), PATIENCE)

    whole, *rest = asyncio.run(play())
    assert whole == check_log(job.place)
    assert rest == [whole[1:], whole[2:], []]


def test_several_threads_start_jobs_at_once_through_one_fork_server() -> None:
    results: list[unhang.Result] = []
    ready = threading.Barrier(8)

    def start(number: int) -> None:
        ready.wait(PATIENCE)
        results.append(unhang.start(["sh", "-c", f"exit {number}"]).wait())

    threads = [threading.Thread(target=start, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(result.exit_code or 0 for result in results) == list(range(8))
    assert len({result.job_id for result in results}) == 8
    assert len(fork_servers()) == 1


def test_starting_a_job_never_forks_the_process_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden() -> int:
        raise AssertionError("the library forked its caller")

    monkeypatch.setattr(os, "fork", forbidden)
    assert unhang.start(["true"]).wait().ok
    assert unhang.run(["true"]).ok


def test_a_fork_of_the_client_gets_a_server_of_its_own(jobs: Jobs) -> None:
    """Even if another thread was just starting a job, and held the lock, when the client forked."""
    assert unhang.run(["true"]).ok
    [server] = fork_servers()
    launcher: Any = start.default_launcher()
    with launcher._lock:
        pid = os.fork()
        if pid == 0:
            status = 1
            signal.alarm(int(PATIENCE))  # a fork that hangs is ended by the kernel
            try:
                ok = unhang.start(["true"]).wait(timeout=PATIENCE).ok
                status = 0 if ok and server not in fork_servers() and len(fork_servers()) == 1 else 2
            finally:
                os._exit(status)
        _, ended = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(ended) == 0
    assert unhang.run(["true"]).ok
    assert fork_servers() == [server]
    assert len(jobs.jobs()) == 3


def test_a_job_can_be_taken_up_by_its_id_in_another_process(jobs: Jobs, roll: RollCall) -> None:
    job = unhang.start(actor("puppet", roll.path), stdin="pipe", idle="off")
    roll.wait_for("leader")
    code = (
        "import sys, unhang; job = unhang.job(sys.argv[1]); print(job.status()['status']); job.send('exit 7\\n');"
        "print(job.wait().exit_code); print([j.id for j in unhang.list_jobs(all=True)] == [job.id])"
    )
    done = jobs.finish(jobs.popen_program(sys.executable, "-c", code, job.id[:6]))
    assert done.out.split() == [b"running", b"7", b"True"], done.err
    assert unhang.job("@last").id == job.id
    assert job.wait().exit_code == 7


def test_a_handle_of_an_unknown_or_ambiguous_job_is_an_error_of_its_own(jobs: Jobs) -> None:
    with pytest.raises(unhang.NoSuchJob):
        unhang.job("zzzz")
    first = unhang.start(["true"])
    first.wait()
    place = type(first.place)(first.place.home, first.id[:5] + "zzzzz")
    jobs.copy(first.place, place)
    with pytest.raises(unhang.AmbiguousJob) as ambiguous:
        unhang.job(first.id[:5])
    assert sorted(ambiguous.value.candidates) == sorted([first.id, place.id])


def test_a_job_that_cannot_be_started_is_a_result_that_says_so() -> None:
    result = unhang.start(["no-such-command-anywhere"]).wait()
    assert (result.status, result.shell_code, (result.error or {})["code"]) == ("error", 127, "ESPAWN")


def test_input_of_any_size_reaches_the_command() -> None:
    assert unhang.start(["cat"], input="words\n").wait().stdout == "words\n"
    assert unhang.start(["wc", "-c"], input=b"x" * 3_000_000).wait().stdout.strip() == "3000000"


def test_waiting_for_any_of_many_gives_those_that_have_ended(roll: RollCall) -> None:
    lasting = [unhang.start(actor("puppet", roll.path), stdin="pipe", idle="off") for _ in range(3)]
    roll.wait_for("leader", 3)
    assert unhang.wait_any(lasting, timeout=0.05) == []
    lasting[1].send("exit 0\n")
    assert [job.id for job in unhang.wait_any(lasting)] == [lasting[1].id]
