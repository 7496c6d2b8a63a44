"""A runtime's own threads are no hope and no movement; everything else in the same process still is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.build import look, process, thread
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import FOREVER, Pipe, ProcessSample, TerminalSettings, Thread
from unhang.core.diagnosis.verdict import Diagnosis

SYSMON = thread(3, timeout=60.0, remaining=31.0, asleep=29.0)
IDLE = thread(2), SYSMON, thread(4)
TTY = TerminalSettings("/dev/pts/3", echo=True, canonical=True, foreground=2)


def twice(*processes: ProcessSample, **more: Any) -> Diagnosis:
    return diagnose(look(0, *processes, **more), look(3, *processes, **more))


def go(*threads: Thread, **more: Any) -> ProcessSample:
    return process(2, *threads, runtime="go", **more)


def poller(timeout: float, *reads: int) -> Thread:
    return thread(5, "epoll_pwait", timeout=timeout, remaining=timeout, reads=reads)


def test_goroutines_that_all_wait_are_a_deadlock() -> None:
    found = twice(go(*IDLE))
    assert (found.state, found.cause) == ("hung", "deadlock")


def test_the_same_threads_of_an_unknown_program_have_a_timer() -> None:
    found = twice(process(2, *IDLE))
    assert (found.state, found.cause) == ("alive", "timer")


@pytest.mark.parametrize("timeout", [3.0, 90.0, 100.0])
def test_the_timeout_of_the_poller_is_the_next_timer_of_a_go_program(timeout: float) -> None:
    found = twice(go(*IDLE, poller(timeout)))
    assert (found.state, found.cause) == ("alive", "timer")


@pytest.mark.parametrize("timeout", [FOREVER, 1_000_000.0], ids=["none", "the longest that Go asks for"])
def test_a_poller_without_a_timer_is_no_hope(timeout: float) -> None:
    found = twice(go(*IDLE, poller(timeout)))
    assert (found.state, found.cause) == ("hung", "deadlock")


@pytest.mark.parametrize(
    "other",
    [
        thread(5, timeout=40.0, remaining=20.0),  # C code in the same process may wait like this
        thread(5, "nanosleep", timeout=5.0, remaining=2.0),
        thread(5, "epoll_pwait", reads=(6,)),
        thread(5, "running", state="R", timeout=None),
        thread(5, timeout=None),
    ],
    ids=["a second timed wait", "a sleep", "a connection", "it runs", "a timeout that could not be read"],
)
def test_whatever_else_a_go_program_does_is_hope(other: Thread) -> None:
    assert twice(go(*IDLE, other, fds={6: "socket:[1]"})).state != "hung"


def test_the_main_thread_is_never_the_one_that_watches() -> None:
    assert twice(go(thread(2, timeout=60.0, remaining=9.0), thread(3))).state != "hung"


def test_an_idle_thread_that_ran_between_the_looks_spoils_the_proof() -> None:
    before, after = go(*IDLE), go(thread(2, switches=9), *IDLE[1:])
    assert diagnose(look(0, before), look(3, after)).state != "hung"


def test_what_a_go_program_waits_for_outside_of_itself_is_the_root() -> None:
    parent = go(*IDLE, poller(FOREVER, 6), fds={6: "pipe:[1]"})
    child = process(9, thread(9, "pause"), ppid=2, comm="sleep")
    found = twice(parent, child, pipes={"pipe:[1]": Pipe(readers=((2, 6),), writers=((9, 1),))})
    assert (found.state, found.cause, found.evidence["pid"]) == ("hung", "idle", 9)


def test_a_go_program_asks_in_whichever_of_its_threads() -> None:
    asks = thread(5, "read", reads=(0,))
    found = twice(go(*IDLE, asks, fds={0: "/dev/pts/3"}, tty=1, pgid=2), terminal=TTY, screen="")
    assert (found.state, found.cause) == ("hung", "input")


TICK = thread(3, "pselect6", timeout=0.05, remaining=0.02)


def ticking(ticks: int, tick: Thread = TICK, runtime: str = "ocaml") -> ProcessSample:
    return process(2, thread(2), tick._replace(switches=ticks), thread(4), runtime=runtime)


def test_the_tick_of_ocaml_is_no_movement() -> None:
    found = diagnose(look(0, ticking(7)), look(3, ticking(67)))
    assert (found.state, found.cause) == ("hung", "deadlock")


@pytest.mark.parametrize(
    ("tick", "runtime"),
    [
        (TICK, ""),
        (TICK._replace(timeout=0.5), "ocaml"),
        (TICK._replace(reads=(6,)), "ocaml"),
        (TICK._replace(syscall="poll"), "ocaml"),
    ],
    ids=["another program", "another period", "with a descriptor", "another call"],
)
def test_what_only_resembles_the_tick_is_a_loop(tick: Thread, runtime: str) -> None:
    assert diagnose(look(0, ticking(7, tick, runtime)), look(3, ticking(67, tick, runtime))).state != "hung"


def gil(switches: int, *, static: bool = True, runtime: str = "python", holder: Thread | None = None) -> ProcessSample:
    wants = thread(3, timeout=0.005, remaining=0.002, switches=switches, futex=64, static=static)
    return process(2, holder or thread(2, "pause"), wants, wants._replace(tid=4), runtime=runtime, handovers=5)


def runs(each: ProcessSample, *tids: int) -> ProcessSample:
    """The process, caught while these of its threads run or wait for a CPU."""
    threads = (
        thread(one.tid, "running", state="R", switches=one.switches) if one.tid in tids else one for one in each.threads
    )
    return each._replace(threads=tuple(threads))


def test_threads_that_ask_for_the_gil_wait_for_its_holder() -> None:
    found = diagnose(look(0, gil(7)), look(3, gil(507)))
    assert (found.state, found.cause) == ("hung", "idle")


def test_a_thread_that_is_caught_as_it_asks_for_the_gil_has_not_got_it() -> None:
    before, after = look(0, gil(7)), look(3, runs(gil(507), 4))
    assert diagnose(before, after).state == "hung"


@pytest.mark.parametrize("number", [6, None], ids=["it had it meanwhile", "cannot be read, or it is free"])
@pytest.mark.parametrize("awake", [(), (4,)], ids=["both ask", "one runs"])
def test_threads_that_take_turns_with_the_gil_are_alive(number: int | None, awake: tuple[int, ...]) -> None:
    """On a starved machine both may be seen to ask for it, one after the other, and their CPU rounds to nothing."""
    after = runs(gil(507), *awake)._replace(handovers=number)
    assert diagnose(look(0, gil(7)), look(3, after)).state != "hung"


def test_a_thread_that_runs_and_did_not_ask_for_the_gil_may_have_it() -> None:
    joins = thread(2)
    before, after = runs(gil(7, holder=joins), 4), runs(gil(507, holder=joins), 4)
    assert diagnose(look(0, before), look(3, after)).state != "hung"


def test_the_holder_of_the_gil_may_go_on() -> None:
    sleeps = thread(2, "nanosleep", timeout=50.0, remaining=40.0)
    assert diagnose(look(0, gil(7, holder=sleeps)), look(3, gil(507, holder=sleeps))).state != "hung"


@pytest.mark.parametrize("how", [{"static": False}, {"runtime": ""}], ids=["a lock of the program", "not Python"])
def test_a_short_wait_for_anything_else_is_a_loop(how: dict[str, Any]) -> None:
    assert diagnose(look(0, gil(7, **how)), look(3, gil(507, **how))).state != "hung"


def beam(*threads: Thread) -> ProcessSample:
    named = [thread(3, "read", reads=(9,), comm="sys_sig_dispatc"), *threads]
    return process(
        2, thread(2, "pselect6"), *named, runtime="erlang", fds={0: "/dev/pts/3", 9: "pipe:[1]"}, tty=1, pgid=2
    )


SCHEDULER = thread(4, comm="2_scheduler", timeout=29.0, remaining=20.0)
OWN_PIPE = {"pipe:[1]": Pipe(readers=((2, 9),), writers=((2, 10),))}


def test_whose_timer_a_scheduler_of_erlang_waits_for_is_not_known() -> None:
    found = twice(beam(SCHEDULER), pipes=OWN_PIPE)
    assert (found.state, found.cause) == ("unsure", "timer")


def test_a_scheduler_of_erlang_may_run_a_timer_of_the_program_beside_a_question() -> None:
    asks = thread(5, "epoll_wait", reads=(0,), comm="0_poller")
    found = twice(beam(SCHEDULER, asks), pipes=OWN_PIPE, terminal=TTY, screen="Application name: ")
    assert (found.state, found.cause) == ("unsure", "input")


def npm(timeout: float) -> ProcessSample:
    return process(2, thread(2, "epoll_pwait", timeout=timeout, remaining=timeout - 1), thread(3))


ASKS = process(8, thread(8, "read", reads=(0,)), ppid=2, fds={0: "/dev/pts/3"}, tty=1, pgid=2)


@pytest.mark.parametrize(("timeout", "state"), [(7.2, "unsure"), (60.0, "unsure"), (FOREVER, "hung")])
def test_a_timer_above_a_question_may_be_the_program_s(timeout: float, state: str) -> None:
    """Also one of eight seconds, which may be V8's: that one is gone soon."""
    found = twice(npm(timeout), ASKS, terminal=TTY, screen="Publish to latest? [y/N] ")
    assert (found.state, found.cause) == (state, "input")


@pytest.mark.parametrize("prompt", ["1> ", "(node@host)12> ", "iex(3)> ", "...(3)> ", "iex(node@host)1> "])
def test_behind_a_shell_of_erlang_its_timers_may_do_anything(prompt: str) -> None:
    asks = thread(5, "epoll_wait", reads=(0,), comm="0_poller")
    found = twice(beam(SCHEDULER, asks), pipes=OWN_PIPE, terminal=TTY, screen=prompt)
    assert (found.state, found.cause) == ("unsure", "input")
