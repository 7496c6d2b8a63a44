"""What a stranger, or the kernel, may still do for a job is hope, however still the job is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.build import look, process, thread
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import FOREVER, Lock, Pipe, ProcessSample, Socket, TerminalSettings
from unhang.core.diagnosis.verdict import Diagnosis


def twice(*processes: ProcessSample, **more: Any) -> Diagnosis:
    return diagnose(look(0, *processes, **more), look(3, *processes, **more))


def test_a_fifo_that_is_opened_may_be_opened_by_a_stranger() -> None:
    opens = thread(2, "openat", wchan="wait_for_partner", path="/x/control")
    found = twice(process(2, opens))
    assert (found.state, found.cause) == ("unsure", "input")


@pytest.mark.parametrize(
    ("link", "state", "cause"),
    [
        ("/x/control", "unsure", "input"),
        ("/x/control (deleted)", "hung", "deadlock"),
        ("pipe:[7]", "hung", "deadlock"),
    ],
)
def test_a_fifo_of_which_a_process_holds_both_ends_may_be_written_to(link: str, state: str, cause: str) -> None:
    both = Pipe(readers=((2, 3),), writers=((2, 3),), searched=True)
    found = twice(process(2, thread(2, "read", reads=(3,)), fds={3: link}), pipes={link: both})
    assert (found.state, found.cause) == (state, cause)


def test_a_full_fifo_of_which_a_process_holds_both_ends_may_be_read() -> None:
    both = Pipe(readers=((2, 3),), writers=((2, 3),), searched=True)
    found = twice(process(2, thread(2, "write", writes=(3,)), fds={3: "/x/f"}), pipes={"/x/f": both})
    assert found.state == "unsure"


def test_a_fifo_with_a_writer_in_the_tree_may_get_another_one() -> None:
    held = Pipe(readers=((2, 0),), writers=((3, 1),), searched=True)
    reads = process(2, thread(2, "read", reads=(0,)), fds={0: "/x/f"})
    waits = process(3, thread(3, "wait4", child=2), ppid=1, fds={1: "/x/f"})
    assert twice(reads, waits, pipes={"/x/f": held}).state == "unsure"


@pytest.mark.parametrize(
    ("tty", "call", "state"),
    [(0, "read", "unsure"), (1, "", "unsure"), (1, "nanosleep", "unsure"), (1, "read", "hung"), (1, "ioctl", "hung")],
)
def test_a_stopped_process_may_be_continued_by_the_one_that_stopped_it(tty: int, call: str, state: str) -> None:
    """Its terminal has stopped it only in a call on that terminal."""
    reads = (0,) if call in ("read", "ioctl") else ()
    stopped = process(2, thread(2, call, state="T", reads=reads), state="T", tty=tty, pgid=5, tpgid=2)
    stopped = stopped._replace(fds={0: "/dev/pts/9"})
    found = twice(stopped)
    assert (found.state, found.cause) == (state, "stopped")


@pytest.mark.parametrize("call", ["pause", "rt_sigsuspend", "epoll_wait", "futex", "wait4"])
def test_a_process_that_handles_a_signal_of_the_user_may_be_sent_one(call: str) -> None:
    assert twice(process(2, thread(2, call), catches_signal=True)).state == "unsure"


@pytest.mark.parametrize(("started", "state"), [(True, "unsure"), (False, "hung")])
def test_a_shell_that_handles_all_signals_heeds_one_while_it_waits_for_the_background(
    started: bool, state: str
) -> None:
    """It runs no trap before a command in the foreground has ended."""
    shell = process(2, thread(2, "wait4"), catches_all=True)
    assert twice(shell, process(3, thread(3, "pause"), ppid=2, background=started)).state == state


@pytest.mark.parametrize(
    ("runtime", "threads", "state"), [("ruby", 1, "unsure"), ("ruby", 2, "unsure"), ("", 1, "hung")]
)
def test_a_ruby_program_whose_threads_wait_for_nothing_sleeps_until_a_signal_comes(
    runtime: str, threads: int, state: str
) -> None:
    waits = [thread(2 + number, "futex") for number in range(threads)]
    found = twice(process(2, *waits, catches_all=True, runtime=runtime))
    assert found.state == state


def test_a_ruby_program_of_which_a_thread_reads_a_pipe_of_its_own_is_no_sleeper() -> None:
    own = Pipe(readers=((2, 5),), writers=((2, 6),), searched=True)
    waits = thread(2, "ppoll", reads=(3,)), thread(3, "poll", reads=(5,))
    ruby = process(2, *waits, catches_all=True, runtime="ruby", fds={3: "anon_inode:[eventfd]", 5: "pipe:[7]"})
    assert twice(ruby, pipes={"pipe:[7]": own}).state == "hung"


@pytest.mark.parametrize("call", ["pause", "futex", "poll"])
@pytest.mark.parametrize(
    ("comm", "children", "state"), [("p", False, "unsure"), ("make", False, "hung"), ("p", True, "hung")]
)
def test_a_daemon_that_rests_may_read_its_settings_again(call: str, comm: str, children: bool, state: str) -> None:
    """One that has children waits for them, and removes its traces at a SIGHUP."""
    daemon = process(2, thread(2, call), comm=comm, catches_reload=True)
    child = process(3, thread(3, "pause"), ppid=2)
    assert twice(*((daemon, child) if children else (daemon,))).state == state


def test_one_that_reads_its_settings_again_and_waits_for_something_else_does_not_rest() -> None:
    terminal = thread(2, "read", reads=(0,)), thread(3, "futex")
    asks = process(2, *terminal, catches_reload=True, fds={0: "/dev/pts/3"})
    assert twice(asks).state == "hung"


@pytest.mark.parametrize(
    ("call", "terminal", "state"),
    [
        ("pause", False, "unsure"),
        ("select", False, "unsure"),
        ("futex", False, "unsure"),
        ("pause", True, "unsure"),
        ("rt_sigsuspend", True, "unsure"),
        ("select", True, "unsure"),
        ("futex", True, "hung"),
    ],
)
def test_a_handler_of_sigcont_is_meant_where_nothing_else_is_waited_for(call: str, terminal: bool, state: str) -> None:
    """At a terminal many have one that puts the screen right."""
    fds = {1: "/dev/pts/3"} if terminal else {}
    assert twice(process(2, thread(2, call), catches_other=True, fds=fds)).state == state


def test_the_kernel_may_write_to_a_pipe_of_a_process_that_has_a_ring() -> None:
    own = Pipe(readers=((2, 3),), writers=((2, 4),), searched=True)
    fds = {3: "pipe:[7]", 4: "pipe:[7]"}
    reads = thread(2, "read", reads=(3,))
    assert twice(process(2, reads, fds=fds), pipes={"pipe:[7]": own}).state == "hung"
    ring = fds | {5: "anon_inode:[io_uring]"}
    assert twice(process(2, reads, fds=ring), pipes={"pipe:[7]": own}).state == "unsure"


def test_a_thread_that_was_not_looked_at_may_go_on() -> None:
    both = thread(2, "futex"), thread(3, "futex")
    assert twice(process(2, *both)).state == "hung"
    assert twice(process(2, *both)._replace(thread_count=3)).state == "unsure"


@pytest.mark.parametrize(("wchan", "state"), [("seccomp_do_user_notification", "unsure"), ("pipe_read", "hung")])
def test_a_supervisor_may_answer_a_system_call(wchan: str, state: str) -> None:
    both = Pipe(readers=((2, 3),), writers=((2, 4),), searched=True)
    reads = process(2, thread(2, "read", reads=(3,), wchan=wchan), fds={3: "pipe:[7]", 4: "pipe:[7]"})
    assert twice(reads, pipes={"pipe:[7]": both}).state == state


TERM, HUP, USR1, ALRM, TTIN = 1 << 14, 1 << 0, 1 << 9, 1 << 13, 1 << 20


@pytest.mark.parametrize(
    ("signals", "state"),
    [
        (TERM, "hung"),
        (TERM | HUP, "unsure"),
        (TERM | TTIN, "unsure"),
        (HUP, "unsure"),
        (TERM | USR1, "unsure"),
        (TERM | ALRM, "unsure"),
        (1 << 40, "unsure"),
        (0, "unsure"),
    ],
)
def test_a_wait_for_a_signal_is_endless_where_only_the_end_of_the_job_would_send_it(signals: int, state: str) -> None:
    found = twice(process(2, thread(2, "rt_sigtimedwait", signals=signals)))
    assert (found.state, found.cause) == (state, "idle")


@pytest.mark.parametrize(
    ("call", "patience", "state"),
    [("read", 25.0, "unsure"), ("read", FOREVER, "hung"), ("poll", 25.0, "hung")],
)
def test_a_terminal_that_gives_a_read_up_goes_on_by_itself(call: str, patience: float, state: str) -> None:
    """A program that polls it first says itself how long it waits."""
    raw = TerminalSettings("/dev/pts/9", echo=False, canonical=False, patience=patience)
    asks = process(2, thread(2, call, reads=(0,)), fds={0: "/dev/pts/9"})
    assert twice(asks, terminal=raw, screen="Press a key: ").state == state


@pytest.mark.parametrize("comm", ["make", "dd"])
def test_a_signal_that_only_asks_how_far_it_is_wakes_nothing(comm: str) -> None:
    reports = process(2, thread(2, "wait4", child=3), comm=comm, catches_signal=True)
    assert twice(reports, process(3, thread(3, "pause"), ppid=2)).state == "hung"


def test_a_wait_for_a_signal_that_another_process_may_send_says_so() -> None:
    found = twice(process(2, thread(2, "pause"), catches_signal=True))
    assert (found.state, found.cause) == ("unsure", "idle")
    assert "another process may send" in found.reason


@pytest.mark.parametrize("left", [900.0, 86_400.0 * 2, 86_400.0 * 100])
def test_a_long_sleep_ends(left: float) -> None:
    asleep = thread(2, "clock_nanosleep", timeout=left, remaining=left)
    assert twice(process(2, asleep)).state != "hung"
    wants = process(3, thread(3, "flock", reads=(3,)), lock=Lock("flock", "/x", 9, "cron", True))
    holds = process(9, asleep._replace(tid=9))
    assert twice(wants, others={9: holds}).state == "unsure", "the holder of a lock that it waits for"


def test_an_end_that_is_to_be_closed_may_be() -> None:
    waits = thread(2, "poll", hangups=(3,))
    found = twice(process(2, waits, fds={3: "/x/alive"}))
    assert (found.state, found.cause) == ("unsure", "unknown")


@pytest.mark.parametrize(("ring", "state"), [("anon_inode:[io_uring]", "unsure"), ("/dev/null", "hung")])
def test_an_eventfd_beside_a_ring_may_be_written_to_by_the_kernel(ring: str, state: str) -> None:
    loop = process(2, thread(2, "epoll_wait", reads=(4,)), fds={3: ring, 4: "anon_inode:[eventfd]"})
    assert twice(loop).state == state


@pytest.mark.parametrize(("strangers", "state"), [({0: ((9, "node"),)}, "unsure"), ({}, "hung")])
def test_a_stdin_of_which_a_stranger_holds_the_other_end(strangers: Any, state: str) -> None:
    reads = process(2, thread(2, "read", reads=(0,)), fds={0: "socket:[1]"}, strangers=strangers)
    found = twice(reads, sockets={"socket:[1]": Socket("unix", state="ESTABLISHED", peer="socket:[2]")})
    assert (found.state, found.cause) == (state, "input")


def test_a_frozen_job_is_thawed_by_another() -> None:
    assert twice(process(2, thread(2, "futex", wchan="do_freezer_trap"))).state == "unsure"


LEFT = thread(5, "clock_nanosleep", timeout=500.0, remaining=400.0)


def test_a_sleep_that_an_ended_command_left_does_nothing_when_it_wakes() -> None:
    found = twice(process(5, LEFT, comm="sleep"), leader=2)
    assert (found.state, found.cause) == ("hung", "leak")


@pytest.mark.parametrize("left", [[process(5, LEFT, comm="python")], [process(5, LEFT, comm="sleep"), process(6)]])
def test_whatever_else_an_ended_command_left_may_work_when_it_wakes(left: list[ProcessSample]) -> None:
    waits = [each if each.pid == 5 else process(6, thread(6, "wait4", child=5), comm="sh") for each in left]
    found = twice(*waits, leader=2)
    assert (found.state, found.cause) == ("alive", "leak")


def test_a_menu_that_looks_up_now_and_then_may_see_something() -> None:
    """In raw mode, with a timeout: it was seen to wake and to do nothing."""
    raw = TerminalSettings("/dev/pts/3", echo=False, canonical=False, foreground=2)
    before, after = (
        process(
            2,
            thread(2, "select", reads=(0,), timeout=1.0, remaining=0.5, switches=switches),
            fds={0: "/dev/pts/3"},
            tty=1,
            pgid=2,
        )
        for switches in (7, 10)
    )
    screen = "[r]un again, [q]uit: "
    found = diagnose(look(0, before, terminal=raw, screen=screen), look(3, after, terminal=raw, screen=screen))
    assert (found.state, found.cause) == ("unsure", "input")


@pytest.mark.parametrize(("comm", "state", "cause"), [("cc1", "alive", "progress"), ("actor", "unsure", "busy")])
def test_a_thread_that_never_gave_up_the_cpu_computes(comm: str, state: str, cause: str) -> None:
    """On a busy machine it may have got next to nothing of it between the looks."""
    found = twice(process(2, thread(2, "running", state="R", timeout=None), comm=comm))
    assert (found.state, found.cause) == (state, cause)


def test_a_poller_of_go_without_an_end_is_no_timer() -> None:
    sysmon = thread(3, timeout=60.0, remaining=31.0)
    waits = process(2, thread(2), sysmon, thread(5, "epoll_pwait", timeout=1e6, remaining=1e6), runtime="go")
    assert twice(waits).state == "hung"
    assert twice(waits._replace(catches_alarm=True)).state == "unsure"
    assert twice(waits._replace(catches_signal=True)).state == "unsure"
    assert waits.threads[0].timeout == FOREVER


@pytest.mark.parametrize(("tracees", "state"), [((), "hung"), (((99, "nginx"),), "unsure")])
def test_what_a_tracer_traces_outside_may_end_its_wait(tracees: tuple[tuple[int, str], ...], state: str) -> None:
    tracer = process(2, thread(2, "wait4", traces=True), tracees=tracees)
    assert twice(tracer, process(3, thread(3, "pause"), ppid=2)).state == state


@pytest.mark.parametrize(
    ("more", "state"), [({}, "unsure"), ({"catches_other": True}, "hung"), ({"catches_all": True}, "hung")]
)
def test_only_an_editor_has_an_alarm_that_says_nothing(more: dict[str, bool], state: str) -> None:
    raw = TerminalSettings("/dev/pts/3", echo=False, canonical=False, foreground=2)
    asks = process(2, thread(2, "read", reads=(0,)), fds={0: "/dev/pts/3"}, tty=1, pgid=2, catches_alarm=True, **more)
    assert twice(asks, terminal=raw, screen="Go on? ").state == state
