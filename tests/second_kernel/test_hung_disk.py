"""A disk that does not answer: the keeper stands still in a write, and its job is ended at its limit all the same."""

from __future__ import annotations

import json

import pytest

from tests.support.jobs import check_log
from tests.support.second_kernel.machine import Machine
from unhang.store.layout import JobDir

# many starts of a Python, in a machine that is slow itself
pytestmark = pytest.mark.timeout(300)
HARD = 5
# How long after its limit a job may live on while its keeper stands still; generous, on a slow machine.
LATER = 30


@pytest.mark.slow
@pytest.mark.parametrize("what", ["silent", "printing"])
def test_a_job_on_a_hung_disk_is_ended_at_its_hard_limit(machine: Machine, what: str) -> None:
    commands = {"silent": "exec sleep 1009", "printing": "while :; do echo again; sleep 0.1; done"}
    limits = f"--hard {HARD} --warn 1 --grace 1 --idle off --stall off"
    status = json.loads(machine.say(f"unhang start --json {limits} -- sh -c '{commands[what]}'"))
    machine.say("fsfreeze --freeze /run/disk")
    machine.say(f"wait_gone {status['pid']} {HARD + LATER}")
    assert machine.do("wait_gone 1 0").code == 1, "wait_gone proves nothing"
    state = next(
        check for check in json.loads(machine.do("unhang doctor --json").text)["checks"] if check["check"] == "state"
    )
    assert state["ok"] is False
    machine.say("fsfreeze --unfreeze /run/disk")
    machine.do(f"unhang wait --timeout 60 {status['jobId']}")
    [row] = json.loads(machine.say("unhang ps --all --json"))
    assert row["status"] == "timeout"
    events = check_log(JobDir(str(machine.files("thawed")), row["jobId"]))
    assert (events[-1]["phase"], events[-1]["status"]) == ("timed_out", "timeout")
