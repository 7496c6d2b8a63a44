"""The process beside a worker: ends a job at its time and when the worker is gone; is replaced if it is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.support.fleet import Machine
from tests.support.jobs import STILL
from unhang.fleet.tether import LET_GO, Tether
from unhang.jobs.handle import Job
from unhang.procs import clock
from unhang.testing.liveness import Process

FAR = 3600.0


@pytest.fixture
def tether() -> Iterator[Tether]:
    made = Tether()
    made.start()
    yield made
    made.close()


@pytest.fixture
def begin(machine: Callable[[str, str], Machine]) -> Callable[[], Job]:
    made = machine("alpha", "nats://127.0.0.1:1")
    return lambda: made.begin(*STILL, "--", "sleep", "1000")


def ended_by(job: Job) -> object:
    return job.wait().outcome.get("cancelledBy")


def test_a_job_is_ended_at_its_time_and_not_while_it_is_held(tether: Tether, begin: Callable[[], Job]) -> None:
    now, first, second = clock.monotonic(), begin(), begin()
    tether.hold(second.place, now + FAR, 1.0)
    tether.hold(first.place, now, 1.0)
    assert ended_by(first) == LET_GO
    assert second.result().status == "running"
    # the jobs that are held when the pipe closes end, as they do when the worker dies
    tether.close()
    assert ended_by(second) == LET_GO


def test_one_that_was_let_go_is_not_ended(tether: Tether, begin: Callable[[], Job]) -> None:
    job = begin()
    tether.hold(job.place, clock.monotonic() + FAR, 1.0)
    tether.release(job.place)
    tether.close()
    assert job.result().status == "running"
    job.cancel(force=True)


def test_it_is_replaced_when_it_is_killed_and_knows_what_was_held(tether: Tether, begin: Callable[[], Job]) -> None:
    job = begin()
    tether.hold(job.place, clock.monotonic() + FAR, 1.0)
    killed = Process(tether._pid)
    os.kill(tether._pid, signal.SIGKILL)
    assert killed.wait_gone()
    tether.check()
    assert tether._pid not in (0, killed.pid)
    tether.close()
    assert ended_by(job) == LET_GO


def test_it_is_woken_when_it_is_stopped(tether: Tether, begin: Callable[[], Job]) -> None:
    job = begin()
    os.kill(tether._pid, signal.SIGSTOP)
    os.waitid(os.P_PID, tether._pid, os.WSTOPPED | os.WNOWAIT)
    tether.hold(job.place, clock.monotonic(), 1.0)
    tether.check()
    assert ended_by(job) == LET_GO
