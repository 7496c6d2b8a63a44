"""The power is cut at random moments under load: what had been said is still so after the next boot."""

from __future__ import annotations

import random

import pytest

from tests.second_kernel.conftest import MakeMachine
from tests.support.second_kernel.known import LATE, Known, check, check_counting, listed, load

CUTS = 5


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("disk", range(4))
def test_what_was_said_before_a_power_cut_is_so_after_it(make_machine: MakeMachine, disk: int) -> None:
    """Five cuts on each disk: one while a machine that has just come up records what it lost, one after so long that
    output must have been synced too, the others in the first seconds of the load."""
    # pytest-randomly gives every test of a run the same seed, says which, and can be told: -p "randomly_seed=N"
    moments = random.Random(random.getrandbits(32) + disk)
    kinds = ["soon"] * (CUTS - 2) + ["late"]
    moments.shuffle(kinds)
    kinds.insert(moments.randrange(1, CUTS), "recovering")  # not the first: there must be something to recover
    machine, known = make_machine(), Known()
    for kind in kinds:
        machine.boot()
        if kind == "recovering":
            machine.say("unhang ps --all --json >/dev/null 2>/dev/console &")
            machine.listen(moments.uniform(0.3, 1.5))
        else:
            check(machine, known)
            load(machine)
            machine.wait_for_reports(moments.randrange(1, 50))
            machine.listen(LATE + 2 if kind == "late" else moments.uniform(0, 0.5))
        down_at = machine.cut_power()
        known.hear(machine.reports, down_at)
    machine.boot()
    check(machine, known)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_flood_that_a_power_cut_ends_leaves_nothing_that_it_never_printed(make_machine: MakeMachine) -> None:
    """The disk is slow, so that the flood rewrites its ring many times while that is on its way to the disk."""
    machine = make_machine(slow_disk=True)
    machine.boot()
    for number in range(3):
        job = machine.say("unhang start --idle off --hard off --stall off -- seq 1000000000").strip()
        machine.listen(random.uniform(4, 7))
        machine.cut_power()
        machine.boot()
        assert [row["phase"] for row in listed(machine)] == ["lost"] * (number + 1)
        check_counting((machine.files(f"cut-{number}") / "jobs" / job / "stdout").read_text())
