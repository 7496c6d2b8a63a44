"""What processes share: it proves a standstill only where the tree alone shares it and no other process could."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.build import look, process, thread
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import Common, Lock, ProcessSample, Thread
from unhang.core.diagnosis.verdict import Diagnosis

KEY = "00:01:34288"


def twice(*processes: ProcessSample, **more: Any) -> Diagnosis:
    return diagnose(look(0, *processes, **more), look(3, *processes, **more))


def word(tid: int, **more: Any) -> Thread:
    return thread(tid, futex=4096, shared=True, common=KEY, **more)


def test_two_processes_that_wait_over_memory_that_only_they_map() -> None:
    found = twice(process(2, word(2)), process(3, word(3)), commons={KEY: Common((2, 3))})
    assert (found.state, found.cause, found.evidence["ring"]) == ("hung", "deadlock", [2, 3])


def test_the_owner_of_a_lock_has_ended() -> None:
    found = twice(process(2, word(2)), commons={KEY: Common((2,))})
    assert (found.state, found.cause) == ("hung", "deadlock")


@pytest.mark.parametrize(
    "commons",
    [{}, {KEY: Common((2,), outside=((99, "daemon"),))}, {KEY: Common((2,), reachable=True)}],
    ids=["not known who maps it", "an outsider maps it", "it has a name"],
)
def test_a_lock_that_an_outsider_may_release_is_no_proof(commons: dict[str, Common]) -> None:
    found = twice(process(2, word(2)), commons=commons)
    assert (found.state, found.cause) == ("unsure", "lock")


def test_a_fellow_that_shares_the_memory_may_go_on() -> None:
    sleeper = process(3, thread(3, "nanosleep", timeout=40.0, remaining=30.0))
    assert twice(process(2, word(2)), sleeper, commons={KEY: Common((2, 3))}).state == "alive"


@pytest.mark.parametrize("call", ["semop", "semtimedop", "msgrcv", "msgsnd"])
def test_who_waits_at_an_object_of_system_v_is_hung_only_if_no_other_process_reaches_it(call: str) -> None:
    waits = process(2, thread(2, call, common="sem:5"))
    assert twice(waits, commons={"sem:5": Common((2,))}).state == "hung"
    assert twice(waits, commons={"sem:5": Common((2,), reachable=True)}).state == "unsure"
    assert twice(waits).state == "unsure"


def test_a_wait_for_a_semaphore_that_gives_up_is_a_timer() -> None:
    waits = process(2, thread(2, "semtimedop", common="sem:5", timeout=50.0, remaining=40.0))
    assert twice(waits, commons={"sem:5": Common((2,))}).cause == "timer"


def flock(pid: int, lock: Lock, **more: Any) -> ProcessSample:
    return process(pid, thread(pid, "flock", reads=(3,)), lock=lock, fds={3: lock.path}, **more)


def test_the_holder_of_a_lock_waits_for_the_one_that_wants_it() -> None:
    shell = process(2, thread(2, "wait4", child=3), comm="sh")
    found = twice(shell, flock(3, Lock("flock", "/x/y.lock", 2, "sh", True, (2, 3)), ppid=2))
    assert (found.state, found.cause, found.evidence["ring"]) == ("hung", "deadlock", [2, 3])
    assert "/x/y.lock" in found.reason


def test_a_process_that_wants_a_lock_twice_is_told_which() -> None:
    found = twice(flock(2, Lock("flock", "/x/y.lock", 2, "p2", True, (2,))))
    assert (found.state, found.cause) == ("hung", "deadlock")
    assert "/x/y.lock" in found.reason
    assert found.evidence["lock"]["holder"] == 2


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (thread(9, "pause"), "hung"),
        (thread(9, "nanosleep", timeout=60.0, remaining=50.0), "unsure"),
        (thread(9, "recvfrom", reads=(4,)), "unsure"),
    ],
    ids=["waits for ever", "sleeps", "waits for a peer"],
)
def test_each_that_shares_the_descriptor_may_give_the_lock_up(other: Thread, state: str) -> None:
    """The first holder, in the tree, waits for ever; the second, outside, decides."""
    holds = process(2, thread(2, "pause"))
    wants = flock(3, Lock("flock", "/x/y.lock", 2, "p2", True, (2, 9)))
    assert twice(holds, wants, others={9: process(9, other, fds={4: "socket:[1]"})}).state == state


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({}, {"threads": (thread(9, "pause", switches=9),)}),
        ({"start": 4}, {}),
        ({"catches_alarm": True}, {"catches_alarm": True}),
        ({"timers": True}, {"timers": True}),
        ({"threads": (thread(9, "", state="T"),)}, {"threads": (thread(9, "", state="T"),)}),
        ({"hidden": True}, {"hidden": True}),
    ],
    ids=["it ran in between", "another process", "an alarm", "a timer", "stopped", "it cannot be looked into"],
)
def test_a_holder_outside_that_may_go_on_is_hope(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    wants = flock(3, Lock("flock", "/x/y.lock", 9, "p9", True, (9,)))
    holds = process(9, thread(9, "pause"))
    before, after = (look(at, wants, others={9: holds._replace(**how)}) for at, how in ((0, earlier), (3, later)))
    assert diagnose(before, after).state == "unsure"


def test_a_holder_that_cannot_be_found_may_give_the_lock_up() -> None:
    assert twice(flock(3, Lock("flock", "/x/y.lock", 9, "", True, (9,)))).state == "unsure"
