"""The few rules that no program of the zoo shows, on samples that are written by hand."""

from __future__ import annotations

from typing import Any

from tests.support.diagnosis.build import look, process, thread
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import Pipe, ProcessSample, Socket, Thread
from unhang.core.diagnosis.verdict import Diagnosis


def twice(*processes: ProcessSample, **more: Any) -> Diagnosis:
    return diagnose(look(0, *processes, **more), look(3, *processes, **more))


def waits(thread: Thread, target: str, **more: Any) -> Diagnosis:
    return twice(process(2, thread, fds={7: target} if target else {}), **more)


def test_a_descriptor_that_is_gone_explains_nothing() -> None:
    found = waits(thread(2, "read", reads=(7,)), "")
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_timerfd_whose_time_cannot_be_read_explains_nothing() -> None:
    found = waits(thread(2, "read", reads=(7,)), "anon_inode:[timerfd]")
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_pidfd_of_a_process_that_has_ended_explains_nothing() -> None:
    found = waits(thread(2, "poll", reads=(7,)), "anon_inode:[pidfd]")
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_full_pipe_that_the_watchdog_does_not_read_proves_nothing() -> None:
    ours = Pipe(writers=((2, 7),), ours=True, searched=True)
    found = waits(thread(2, "write", writes=(7,)), "pipe:[1]", pipes={"pipe:[1]": ours})
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_listener_of_an_unknown_family_is_alive() -> None:
    found = waits(thread(2, "accept4", reads=(7,)), "socket:[1]")
    assert (found.state, found.cause) == ("alive", "listening")


def test_a_socket_whose_timeout_cannot_be_read_is_not_called_hung() -> None:
    pair = {"socket:[1]": Socket("unix", peer="socket:[2]"), "socket:[2]": Socket("unix", peer="socket:[1]")}
    waits = process(2, thread(2, "recvfrom", reads=(7,)), fds={7: "socket:[1]", 8: "socket:[2]"})
    assert twice(waits, sockets=pair).state == "hung", "it has none"
    assert twice(waits._replace(patience={7: None}), sockets=pair).state == "unsure"
    found = twice(waits._replace(patience={7: 80.0}), sockets=pair)
    assert (found.state, found.cause) == ("alive", "timer")


def test_a_tree_that_cannot_be_looked_into_is_not_judged() -> None:
    found = twice(process(2)._replace(threads=(), thread_count=1))
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_chain_that_ends_at_a_zombie_is_not_called_hung() -> None:
    ended = process(3)._replace(state="Z", threads=())
    found = twice(process(2, thread(2, "wait4", child=3)), ended)
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_standstill_that_nothing_explains_is_not_called_hung() -> None:
    wants = thread(2, timeout=0.005, remaining=0.002, futex=64, static=True)
    found = twice(process(2, wants, runtime="python"))
    assert (found.state, found.cause) == ("unsure", "unknown")


def test_a_loop_that_wakes_and_burns_a_little_polls() -> None:
    """A tenth of a core, in many small steps."""
    before, after = (
        process(2, thread(2, "nanosleep", timeout=0.004, remaining=0.001, switches=woken), cpu=used)
        for woken, used in ((7, 0), (607, 30))
    )
    found = diagnose(look(0, before), look(3, after))
    assert (found.state, found.cause) == ("unsure", "poll")


def test_a_wait_for_the_gil_under_an_alarm() -> None:
    """The main thread wants it; the one that has it waits in C."""
    wants = thread(2, timeout=0.005, remaining=0.002, futex=64, static=True)
    found = twice(process(2, wants, thread(3, "pause"), runtime="python", catches_alarm=True))
    assert (found.state, found.cause) == ("unsure", "deadlock")
