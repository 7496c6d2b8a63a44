"""A machine that is shut down and boots again: nothing that was said is lost, whatever took the jobs with it."""

from __future__ import annotations

import time

import pytest

from tests.support.second_kernel.known import Known, check, load
from tests.support.second_kernel.machine import Machine


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_reboot_loses_nothing_that_was_reported_before_it(machine: Machine) -> None:
    known = Known()
    boot_ids = set()
    for reports in (20, 40):
        boot_ids.add(machine.say("cat /proc/sys/kernel/random/boot_id"))
        check(machine, known)
        load(machine)
        machine.wait_for_reports(reports)
        down_at = time.time()
        machine.shut_down()
        known.hear(machine.reports, down_at, orderly=True)
        machine.boot()
    boot_ids.add(machine.say("cat /proc/sys/kernel/random/boot_id"))
    assert len(boot_ids) == 3
    check(machine, known)
