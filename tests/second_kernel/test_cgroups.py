"""unhang needs no cgroups, and works inside of them: with cgroup v2 mounted or not, and under its limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.second_kernel.conftest import MakeMachine
from tests.support.engine import wait_until
from tests.support.second_kernel.machine import Machine

# many starts of a Python, in a machine that is slow itself
pytestmark = pytest.mark.timeout(300)
STUBBORN = "trap '' TERM; setsid sleep 1003 & sleep 1003 & wait"
LIMITS = "--hard 2 --warn 0.5 --grace 0.5 --idle off --stall off"
BOMB = ":(){ sleep 1005 & : & sleep 1005; }; :"


def _run(machine: Machine, line: str) -> dict[str, Any]:
    result = json.loads(machine.do(f"{line} 2>/dev/console").text)
    assert isinstance(result, dict)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("cgroups", [False, True])
def test_a_job_is_ended_at_its_limit_with_and_without_cgroups(make_machine: MakeMachine, cgroups: bool) -> None:
    machine = make_machine(cgroups=cgroups)
    machine.boot()
    assert ("cgroup2" in machine.say("cat /proc/mounts")) is cgroups
    result = _run(machine, f'unhang run --json {LIMITS} -- sh -c "{STUBBORN}"')
    assert (result["status"], result["error"]["code"], result["error"]["survivors"]) == ("timeout", "ETIMEDOUT", [])
    assert machine.say("count sleep.1003") == "0\n"
    job = machine.say("unhang start --hard off --idle off -- sleep 1003").strip()
    assert machine.say("count sleep.1003") != "0\n"
    machine.say(f"unhang cancel {job}")
    # its keeper and its guard have the command in theirs, and go a moment after the end is recorded
    wait_until(lambda: machine.say("count sleep.1003") == "0\n", "nothing of it is left")


@pytest.mark.slow
def test_a_job_at_the_limits_of_its_cgroup_is_ended_whole(make_machine: MakeMachine) -> None:
    """One that the kernel kills for its memory, and one that forks until it may not any more."""
    machine = make_machine(cgroups=True)
    machine.boot()
    machine.say("cd /sys/fs/cgroup; echo +memory +pids >cgroup.subtree_control; mkdir box; cd box")
    machine.say("echo 64M >memory.max; echo 60 >pids.max; echo 1 >/proc/sys/vm/overcommit_memory")
    inside = "(sh -c 'echo $PPID >cgroup.procs'; cd /run;"
    hog = "x = bytearray(); [x.extend(bytes(1 << 20)) for _ in range(1000)]"
    result = _run(machine, f"""{inside} unhang run --json -- "$PYTHON" -I -S -c '{hog}' )""")
    assert (result["status"], result["signal"]) == ("error", "SIGKILL")
    assert "oom_kill 0" not in machine.say("cat memory.events")
    for words in ("status", "ps --all"):  # a person is told what SIGKILL does not say
        assert "out of memory" in machine.say(f"unhang {words}{' @last' if words == 'status' else ''}")
    result = _run(machine, f"""{inside} unhang run --json {LIMITS} -- bash -c '{BOMB}' )""")
    assert result["status"] in ("timeout", "error")
    assert machine.say("count sleep.1005") == "0\n"
    assert machine.say("cat cgroup.procs") == ""
