"""A /proc that hides processes, and no /proc at all: what cannot be seen is not judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.second_kernel.machine import Machine

# many starts of a Python, in a machine that is slow itself
pytestmark = pytest.mark.timeout(300)
LIMITS = "--idle off --stall off --hard off"
# How a reader without a useful /proc sees a job: somewhere else, whose keeper cannot be judged from here.
BLIND = {
    "hidden": "without_capabilities",
    "empty": "unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh",
}


def _row(machine: Machine, words: str, job: str) -> dict[str, Any]:
    [row] = [row for row in json.loads(machine.say(words)) if row["jobId"] == job]
    assert isinstance(row, dict)
    return row


@pytest.mark.slow
def test_an_ordinary_user_whose_proc_hides_all_others_can_list_end_and_cancel_jobs(machine: Machine) -> None:
    machine.say("make_user; mount -o remount,hidepid=2,gid=12345 /proc")
    assert machine.do("as_user ls -d /proc/1").code != 0, "nothing is hidden"
    job = machine.say(f"users_unhang start {LIMITS} -- sleep 1006").strip()
    assert _row(machine, "users_unhang ps --json", job)["phase"] == "running"
    ended = machine.do(
        "users_unhang run --hard 1 --warn 0.2 --grace 0.2 --idle off -- sh -c 'setsid sleep 1007 & wait'"
    )
    assert ended.code == 124
    assert machine.say("count sleep.1007") == "0\n"
    assert machine.say("count sleep.1006") != "0\n"
    machine.say(f"users_unhang cancel {job}")
    assert machine.say("count sleep.1006") == "0\n"
    row = _row(machine, "users_unhang ps --all --json", job)
    assert (row["status"], row["phase"]) == ("cancelled", "cancelled")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hidden", "empty"])
def test_a_reader_who_cannot_see_the_keeper_judges_nothing_and_ends_nothing(machine: Machine, how: str) -> None:
    machine.say("mount -o remount,hidepid=2,gid=12345 /proc")
    job = machine.say(f"unhang start {LIMITS} -- sleep 1008").strip()
    before = machine.say(f"cat $UNHANG_HOME/jobs/{job}/events.ndjson")
    keeper = json.loads(machine.say(f"cat $UNHANG_HOME/jobs/{job}/job.json"))["keeper"]["pid"]
    assert machine.do(f"{BLIND[how]} ls -d /proc/{keeper}").code != 0, "nothing is hidden"
    reader = f"""{BLIND[how]} "$PYTHON" -I -S -c "$MAIN" """
    row = _row(machine, f"{reader} ps --all --json", job)
    assert (row["status"], row["phase"]) == ("running", "elsewhere")
    assert json.loads(machine.say(f"{reader} status {job} --json"))["phase"] == "elsewhere"
    assert machine.do(f"{reader} gc --age 0s").code == 0
    machine.do(f"{reader} doctor")
    assert machine.say("count sleep.1008") != "0\n"
    assert machine.say(f"cat $UNHANG_HOME/jobs/{job}/events.ndjson") == before
    assert _row(machine, "unhang ps --json", job)["phase"] == "running"
    machine.say(f"unhang cancel {job}")
    assert machine.say("count sleep.1008") == "0\n"
