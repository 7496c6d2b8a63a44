"""When timeout(1) ends what it runs: read from its own command line."""

from __future__ import annotations

import pytest

from tests.zoo.recording import FOLDER, read
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.syscalls import time_limit


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("timeout 300 sleep 9", 300.0),
        ("timeout 5m make", 300.0),
        ("/usr/bin/timeout --foreground -k 5 -s INT 1.5h make", 5400.0),
        ("timeout --kill-after=5 --signal=INT 2d make", 172_800.0),
        ("timeout make", None),
        ("timeout", None),
    ],
)
def test_the_limit_that_timeout_sets_is_read_from_its_command_line(command: str, seconds: float | None) -> None:
    assert time_limit(command) == seconds


def test_a_timeout_above_a_deadlock_is_a_timer() -> None:
    seen = read(FOLDER / "timeout-300-over-a-lock.json")
    assert (seen.verdict().state, seen.verdict().cause) == ("alive", "timer")
    processes = {
        pid: process._replace(timers=False, catches_alarm=False, comm="waits")
        for pid, process in seen.after.processes.items()
    }
    bare = seen.after._replace(processes=processes)
    assert diagnose(seen.before, bare).state == "hung", "without the timer it is what it was"
