"""More clients than the keeper serves, than its queue holds, than it has descriptors for: requests are answered."""

from __future__ import annotations

import os
import resource
import socket

import pytest

from tests.support.engine import wait_until
from tests.support.jobs import STILL, Jobs, actor, check_log, deserted
from unhang.procs.sampler import cheap as counters
from unhang.testing.liveness import RollCall


@pytest.mark.parametrize("processes", [1, 6])
def test_a_job_that_crowds_its_own_keeper_can_be_extended_and_cancelled(
    jobs: Jobs, roll: RollCall, processes: int
) -> None:
    job = jobs.begin(*STILL, "--", *actor("crowder", roll.path, processes))
    roll.wait_for("full", processes)
    done = jobs.call("extend", job.id, "--hard", "5m")
    assert (done.code, done.err) == (0, b"")
    done = jobs.call("cancel", "--force", job.id)
    assert done.code == 0, done.err
    events = check_log(job.place)
    assert [event["phase"] for event in events if event["type"] == "watchdog"] == ["extended"]
    assert events[-1]["phase"] == "cancelled"
    assert deserted(roll)


def test_a_job_that_crowds_its_own_keeper_is_ended_at_its_limit(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin("--hard", "6", "--warn", "0", "--", *actor("crowder", roll.path, 3))
    roll.wait_for("full", 3)
    result = job.wait(60)
    assert result.timeout_reason == "exec_timeout"
    assert result.duration is not None
    assert result.duration < 30
    assert deserted(roll)


def test_more_clients_than_descriptors_cost_nothing_and_change_nothing(jobs: Jobs, roll: RollCall) -> None:
    few = (32, 32)
    job = jobs.begin(
        *("--hard", "5", "--warn", "3", "--", *actor("obedient", roll.path)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    )
    leader = roll.wait_for("leader")
    keeper = int(job.spec["keeper"]["pid"])
    folder = os.open(job.place.path, os.O_RDONLY)
    held = []
    for _ in range(60):
        line = socket.socket(socket.AF_UNIX)
        line.connect(f"/proc/self/fd/{folder}/control")
        held.append(line)
    os.close(folder)
    assert job.ping()["ok"] is True
    began = _cpu(keeper)
    wait_until(lambda: [event for event in job.events() if event["phase"] == "warning"], "the warning")
    burnt = _cpu(keeper) - began  # in some two seconds; it used to be all of them
    result = job.wait(60)
    for line in held:
        line.close()
    assert burnt < 100
    assert result.timeout_reason == "exec_timeout"
    [signalled] = [event for event in check_log(job.place) if event["type"] == "signal"]
    assert (signalled["pids"], "unseen" in signalled) == ([leader.pid], False)
    assert deserted(roll)


def _cpu(pid: int) -> int:
    """In ticks, of which there are a hundred a second."""
    return counters.cheap(pid, include_root=True).processes[pid].cpu
