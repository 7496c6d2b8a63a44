"""A machine whose power is cut tells, when it is up again, what was due: each alert once."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.support.second_kernel.machine import Machine

RULES = """\
[target.file]
kind = "command"
command = ["/bin/sh", "-c", "[ -e /run/go ] && cat >>/run/disk/told && sync"]
[[rule]]
on = ["failed", "lost"]
to = ["file"]
"""
# It brings a deliverer, who leaves when nothing is due.
NEXT_JOB = "unhang run -- true; while [ $(count alerts.deliver) != 0 ]; do sleep 0.2; done"
LONG = 200.0
FOR_EVER = "--idle off --hard off --stall off"


def told(machine: Machine) -> Counter[tuple[str, str]]:
    """(kind, job) of each alert that has arrived."""
    lines = machine.say("cat /run/disk/told 2>/dev/null || :").splitlines()
    return Counter((each["kind"], each["jobId"]) for line in lines for each in json.loads(line)["alerts"])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_was_due_when_the_power_was_cut_arrives_once_after_the_next_boot(machine: Machine) -> None:
    machine.say("mkdir -p /run/disk/.config/unhang")
    for line in RULES.splitlines():
        machine.say(f"echo '{line}' >>/run/disk/.config/unhang/alerts.toml")
    machine.say("sync")
    cut = machine.say(f"unhang start {FOR_EVER} -- sleep 1002").strip()
    failed = machine.say(f"unhang start {FOR_EVER} -- false").strip()
    # its end is known, and the receiver is down
    machine.say(f"unhang wait {failed}; until unhang alerts status | grep -q waiting; do :; done", LONG)
    machine.cut_power()
    machine.boot()
    assert not told(machine)
    machine.say(f"touch /run/go; {NEXT_JOB}", LONG)
    expected = Counter({("lost", cut): 1, ("failed", failed): 1})
    assert told(machine) == expected
    machine.cut_power()
    machine.boot()
    machine.say(f"touch /run/go; {NEXT_JOB}", LONG)
    assert told(machine) == expected
