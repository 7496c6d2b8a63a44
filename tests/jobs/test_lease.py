"""The lease: what is on it ends with its holder, whatever happens to the process that keeps it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import unhang
from tests.support.jobs import Jobs, actor, keeper_of, wait_until
from unhang.core.outcome import CALLER_DIED
from unhang.jobs.handle import Job
from unhang.jobs.lease import Lease
from unhang.store.layout import JobDir
from unhang.testing.liveness import Process, RollCall


@pytest.fixture
def lease() -> Iterator[Lease]:
    lease = Lease()
    yield lease
    lease.close()


def begin(lease: Lease, roll: RollCall, count: int = 1) -> Job:
    job = unhang.start(actor("obedient", roll.path), idle="off", hard="100", stdin="null")
    roll.wait_for("leader", count)
    lease.hold(job.place)
    return job


def ended_by_the_lease(job: Job) -> bool:
    result = job.wait(30)
    return (result.status, result.outcome.get("cancelledBy")) == ("cancelled", CALLER_DIED)


def replaced(lease: Lease, old: Process) -> None:
    assert old.wait_gone()
    wait_until(lambda: lease._pid not in (0, old.pid), "another process")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_process_that_is_killed_or_stopped_is_replaced_by_one_that_ends_the_same_jobs(
    lease: Lease, roll: RollCall, number: int
) -> None:
    """At once: the holder may die before it has another word for the lease."""
    first, second, freed = begin(lease, roll), begin(lease, roll, 2), begin(lease, roll, 3)
    lease.release(freed.place)
    old = Process(lease._pid)
    old.send(number)
    replaced(lease, old)
    lease.close()
    assert ended_by_the_lease(first)
    assert ended_by_the_lease(second)
    assert freed.status()["status"] == "running"
    freed.cancel()


def test_a_process_that_reads_nothing_never_blocks_its_holder(
    lease: Lease, roll: RollCall, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here no thread attends to it, as for a process that is starved rather than stopped: only the full pipe tells."""
    monkeypatch.setattr(Lease, "_attend", lambda *_: None)
    job = begin(lease, roll)
    old = Process(lease._pid)
    old.send(signal.SIGSTOP)
    for number in range(5000):
        place = JobDir(str(jobs.home), f"none{number}")
        lease.hold(place)
        lease.release(place)
    assert os.waitpid(old.pid, 0)[0] == old.pid
    assert lease._pid not in (0, old.pid)
    successor = lease._pid
    lease.close()
    assert ended_by_the_lease(job)
    assert os.waitpid(successor, 0)[0] == successor


def test_more_jobs_than_a_pipe_can_tell_of_are_told_to_the_next_process(
    lease: Lease, roll: RollCall, jobs: Jobs
) -> None:
    for number in range(2000):
        lease.hold(JobDir(f"{jobs.home}/{'long' * 20}", f"none{number}"))
    job = begin(lease, roll)
    old = Process(lease._pid)
    old.send(signal.SIGKILL)
    replaced(lease, old)
    lease.close()
    assert ended_by_the_lease(job)


def test_a_keeper_that_does_not_answer_delays_no_other_job(lease: Lease, roll: RollCall) -> None:
    stuck, other = begin(lease, roll), begin(lease, roll, 2)
    keeper, _ = keeper_of(stuck.place)
    keeper.send(signal.SIGSTOP)
    process = Process(lease._pid)
    lease.close()
    assert ended_by_the_lease(other)
    assert process.is_alive(), "it should still wait for an answer of the stopped keeper"
    keeper.send(signal.SIGCONT)
    assert ended_by_the_lease(stuck)
    assert process.wait_gone()


def test_a_process_that_was_stopped_as_it_was_let_go_does_its_last_work(lease: Lease, roll: RollCall) -> None:
    job = begin(lease, roll)
    process = Process(lease._pid)
    with lease._lock:  # the thread cannot replace it now
        process.send(signal.SIGSTOP)
        lease._closed.set()
        lease._hang_up()
    assert ended_by_the_lease(job)
    assert process.wait_gone()


def test_ready_raises_when_the_process_cannot_be_started_and_works_once_it_can(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as here:
        here.setattr("sys.executable", "/nonexistent/python")
        with pytest.raises(unhang.UnhangError):
            lease.ready()
    lease.ready()
    assert lease._pid
