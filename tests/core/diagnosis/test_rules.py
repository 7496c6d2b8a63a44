"""Two looks, one verdict: each cause by example, and what must hold for any two looks whatever."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.diagnosis.build import HZ, look, looks, process, thread
from unhang.core import events as ev
from unhang.core.diagnosis.activity import compare
from unhang.core.diagnosis.causes import TABLE, repeats
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.runtimes import JVM
from unhang.core.diagnosis.samples import FOREVER, FullSample, Lock, Pipe, ProcessSample, Socket, TerminalSettings
from unhang.core.diagnosis.suggest import suggestions
from unhang.core.diagnosis.verdict import STATES, Diagnosis
from unhang.core.watchdog import actions as act
from unhang.core.watchdog import messages
from unhang.faces.cli.commands.diagnose import render

TTY = TerminalSettings("/dev/pts/3", echo=True, canonical=True, foreground=2)


def twice(*processes: ProcessSample, **more: Any) -> Diagnosis:
    """Nothing changed between two looks three seconds apart."""
    return diagnose(look(0, *processes, **more), look(3, *processes, **more))


def at(pid: int, syscall: str, fd: int, target: str, **more: Any) -> ProcessSample:
    return process(pid, thread(pid, syscall, reads=(fd,)), fds={fd: target}, **more)


def test_waiting_at_a_prompt_on_the_terminal_is_hung_for_input() -> None:
    found = twice(at(2, "read", 0, "/dev/pts/3", tty=1, pgid=2), terminal=TTY, screen="Overwrite? [y/N] ")
    assert (found.state, found.cause) == ("hung", "input")
    assert '"Overwrite? [y/N]"' in found.reason


def test_a_hidden_process_at_a_password_prompt_is_hung_for_input() -> None:
    su = process(2, thread(2, "", timeout=None), hidden=True, tty=1, pgid=2, comm="su")
    found = twice(su, terminal=TTY._replace(echo=False), screen="Password: ")
    assert (found.state, found.cause) == ("hung", "input")
    assert '"Password:"' in found.reason
    assert "password" in found.reason
    assert found.evidence["hidden"] == [2]


@pytest.mark.parametrize("odd", ["a\x1b", "a\x1b]0;", "a\x1b[", "a\x9b", "a\u202e", "a\nb", "a\x07", "a\udc80"])
def test_control_characters_in_a_name_do_not_reach_a_diagnosis(odd: str) -> None:
    seen = odd.translate({ord(char): 0xFFFD for char in "\x1b\x9b\u202e\n\x07\udc80"})
    pipes = {"pipe:[1]": Pipe(readers=((2, 0),), outside=((99, odd),))}
    found = twice(
        at(2, "read", 0, "pipe:[1]", comm=odd), pipes=pipes, notes=(f"looked at 1 of 2 threads of {odd} [2]",)
    )
    assert f"{seen} [99]" in found.reason
    assert found.evidence["notes"] == [f"looked at 1 of 2 threads of {seen} [2]"]
    assert f"{seen} [99]" in found.processes[0].waits
    shown = render(found)
    assert all(line.isprintable() for line in shown)
    assert f"{seen} [99]" in shown[0]
    mutexes = twice(process(2, thread(2, futex=10, owner=3), thread(3, futex=11, owner=2), comm=odd))
    assert f"{seen} [2], threads 2, 3" in mutexes.reason


def test_a_prompt_beside_a_working_process_is_no_hang() -> None:
    asks = at(2, "read", 0, "/dev/pts/3", tty=1, pgid=2)
    before, after = process(3, cpu=0), process(3, cpu=250)
    found = diagnose(look(0, asks, before, terminal=TTY), look(3, asks, after, terminal=TTY))
    assert found.state != "hung"


def test_reading_a_stdin_without_a_writer_is_hung_for_input() -> None:
    pipes = {"pipe:[1]": Pipe(readers=((2, 0),))}
    found = twice(at(2, "read", 0, "pipe:[1]"), pipes=pipes)
    assert (found.state, found.cause) == ("hung", "input")
    assert found.evidence["channel"] == "stdin"


def test_reading_a_stdin_with_a_writer_outside_is_unsure_and_names_the_writer() -> None:
    pipes = {"pipe:[1]": Pipe(readers=((2, 0),), outside=((99, "node"),))}
    found = twice(at(2, "read", 0, "pipe:[1]"), pipes=pipes)
    assert (found.state, found.cause) == ("unsure", "input")
    assert "node [99]" in found.reason


def test_two_threads_that_wait_for_each_others_mutex_are_deadlocked() -> None:
    found = twice(process(2, thread(2, futex=10, owner=3), thread(3, futex=11, owner=2)))
    assert (found.state, found.cause) == ("hung", "deadlock")
    assert "p2 [2], threads 2, 3" in found.reason


@pytest.mark.parametrize(
    "alone",
    [
        process(2, thread(2, futex=10, owner=2)),
        process(2, thread(2)),
        process(2, thread(2, "read", reads=(5,)), fds={5: "pipe:[1]", 6: "pipe:[1]"}),
    ],
    ids=["a mutex of its own", "one thread", "a pipe of its own"],
)
def test_a_deadlock_without_chance_will_happen_again(alone: ProcessSample) -> None:
    found = twice(alone, pipes={"pipe:[1]": Pipe(readers=((2, 5),), writers=((2, 6),))})
    assert (found.state, found.cause) == ("hung", "deadlock")
    assert repeats(found.to_json())


def test_a_deadlock_of_several_threads_may_not_happen_again() -> None:
    for several in (process(2, thread(2), thread(3)), process(2, thread(2, owner=3), thread(3, owner=2))):
        assert twice(several)[:2] == ("hung", "deadlock")
        assert not repeats(twice(several).to_json())


def test_a_thread_with_a_timer_leaves_a_deadlock_unproven() -> None:
    found = twice(process(2, thread(2), thread(3, "nanosleep", timeout=30.0)))
    assert found.state != "hung"


@pytest.mark.parametrize("change", [{"switches": 8}, {"futex": 99}])
def test_a_thread_that_ran_between_the_looks_leaves_a_deadlock_unproven(change: dict[str, Any]) -> None:
    before, after = process(2, thread(2, futex=1)), process(2, thread(2, **{"futex": 1, **change}))
    assert diagnose(look(0, before), look(3, after)).state == "unsure"


def monitors(woke: int, futile: int, ends: float = 0.5) -> Diagnosis:
    """A JVM with two threads in waits of less than a second, each of which woke so often."""
    jvm = thread(9, comm="VM Thread", timeout=0.2, switches=50)
    before = process(2, thread(2, timeout=0.9), thread(3, timeout=0.9), jvm, futile=10, runtime=JVM)
    after = process(
        2, *(thread(tid, timeout=ends, switches=7 + woke) for tid in (2, 3)), jvm, futile=10 + futile, runtime=JVM
    )
    return diagnose(look(0, before), look(3, after))


def test_a_jvm_counts_the_wakeups_that_found_a_monitor_taken() -> None:
    assert monitors(woke=3, futile=6)[:2] == ("hung", "deadlock")
    assert monitors(woke=3, futile=5).state == "unsure", "one wake-up was something else: a thread that steps on"
    assert monitors(woke=0, futile=6).state != "hung", "it may be in the last second of a long sleep"
    assert monitors(woke=3, futile=6, ends=30.0).state != "hung"


def test_a_process_that_catches_alarms_leaves_a_deadlock_unproven() -> None:
    assert twice(process(2, catches_alarm=True)).state == "unsure"


def test_what_was_not_looked_at_leaves_a_deadlock_unproven() -> None:
    assert twice(process(2)).state == "hung"
    assert twice(process(2), notes=("looked at 1 of 5000 threads",)).state == "unsure"
    assert twice(process(2), process(3, thread(3, "", timeout=None), hidden=True)).state == "unsure"


def test_two_looks_too_close_together_prove_nothing() -> None:
    assert diagnose(look(0, process(2)), look(0.2, process(2))).state == "unsure"


def test_a_parent_that_waits_for_a_child_blocked_on_their_pipe_is_a_pipe_cycle() -> None:
    parent = process(2, thread(2, "wait4", child=3))
    child = process(3, thread(3, "write", writes=(1,)), ppid=2, fds={1: "pipe:[1]"})
    found = twice(parent, child, pipes={"pipe:[1]": Pipe(readers=((2, 5),), writers=((3, 1),))})
    assert (found.state, found.cause) == ("hung", "pipe_cycle")
    assert found.evidence["ring"] == [2, 3]


@pytest.mark.parametrize(("call", "state"), [("pause", "hung"), ("clock_nanosleep", "alive")])
@pytest.mark.parametrize("background", [True, False])
def test_of_a_pipe_the_reader_is_named_before_what_only_holds_it_open_in_the_background(
    call: str, state: str, background: bool
) -> None:
    asleep = thread(3, call, remaining=900.0) if state == "alive" else thread(3, call)
    holder = process(3, asleep, fds={1: "pipe:[1]"}, comm="sleep", background=background)
    pipes = {"pipe:[1]": Pipe(readers=((2, 0),), writers=((3, 1),))}
    found = twice(at(2, "read", 0, "pipe:[1]", comm="cat"), holder, pipes=pipes)
    assert found.state == state
    assert found.reason.startswith("cat [2]" if background else "sleep [3]")
    assert "sleep [3]" in found.reason


@pytest.mark.parametrize("background", [True, False])
def test_of_two_readers_of_a_pipe_the_one_that_hangs_is_named_and_not_the_one_in_the_background(
    background: bool,
) -> None:
    writer = process(2, thread(2, "write", writes=(1,)), fds={1: "pipe:[1]"}, comm="yes")
    stuck = process(3, thread(3), fds={0: "pipe:[1]"}, comm="reader")
    holder = process(4, thread(4, "clock_nanosleep", remaining=900.0), comm="sleep", background=background)
    pipes = {"pipe:[1]": Pipe(readers=((3, 0), (4, 0)), writers=((2, 1),))}
    found = twice(writer, stuck, holder, pipes=pipes)
    assert found.state == "alive"
    assert found.reason.startswith("reader [3]" if background else "sleep [4]")


def test_a_lock_whose_holder_waits_for_ever_is_hung() -> None:
    lock = Lock("flock", "/x/y.lock", 99, "apt-get", True)
    waiter = process(2, thread(2, "flock", reads=(3,)), lock=lock)
    found = twice(waiter, others={99: process(99, thread(99, "pause"))})
    assert (found.state, found.cause) == ("hung", "lock")
    assert "/x/y.lock" in found.reason
    assert "99 (apt-get)" in found.reason
    assert found.evidence["lock"] == {"kind": "flock", "path": "/x/y.lock", "holder": 99, "holderComm": "apt-get"}
    assert repeats(found.to_json()), "the holder is still there, and stuck, when this runs again"


@pytest.mark.parametrize("syscall", ["running", "nanosleep", "read"])
def test_a_lock_whose_holder_may_go_on_is_unsure(syscall: str) -> None:
    waiter = process(2, thread(2, "flock"), lock=Lock("flock", "/x", 99, "apt-get", True))
    holder = process(99, thread(99, syscall, timeout=3.0))
    assert twice(waiter, others={99: holder}).state == "unsure"
    assert not repeats(twice(waiter, others={99: holder}).to_json())
    assert twice(waiter).state == "unsure", "a holder that could not be looked at"


def test_a_background_process_that_its_terminal_stopped_is_hung() -> None:
    reads = thread(2, "read", state="T", reads=(0,))
    stopped = process(2, reads, state="T", tty=1, pgid=5, tpgid=2, fds={0: "/dev/pts/9"})
    found = twice(stopped)
    assert (found.state, found.cause) == ("hung", "stopped")
    assert "SIGTTIN" in found.reason


@pytest.mark.parametrize(
    ("asleep", "remaining", "woke", "state", "cause"),
    [(1.0, 3.0, 1, "alive", "timer"), (1.0, 1.0, 1, "unsure", "poll"), (1.0, 3.0, 2, "unsure", "poll")],
)
def test_one_wake_up_of_a_slow_rhythm_between_the_looks_is_no_poll(
    asleep: float, remaining: float, woke: int, state: str, cause: str
) -> None:
    """Else the same program would be a timer or a poll, as the looks fall."""

    def ticks(switches: int) -> ProcessSample:
        sleeps = thread(2, "nanosleep", timeout=4.0, asleep=asleep, remaining=remaining, switches=switches)
        return process(2, sleeps)

    found = diagnose(look(0, ticks(7)), look(2.5, ticks(7 + woke)))
    assert (found.state, found.cause) == (state, cause)


def stirs(io: int = 5, disk: int = 10**7, fetched: int = 7, pid: int = 2) -> ProcessSample:
    """A program that was fetched from the disk at its start, and now waits for a signal for ever."""
    return process(pid, thread(pid, "pause"), io=io, disk=disk, fetched=fetched)


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (stirs(), "hung"),
        (stirs(io=6), "unsure"),
        (stirs(io=50_000), "alive"),
        (stirs(disk=10**7 + 3_000_000, fetched=11), "unsure"),
        (stirs(disk=10**7 + 3_000_000, fetched=7), "alive"),
        (stirs(disk=10**7 + 3_000_000, fetched=700), "alive"),
    ],
    ids=["nothing", "one byte", "bytes", "parts of the program itself", "the disk alone", "a mapped file"],
)
def test_bytes_of_calls_and_of_the_disk_are_counted_apart(after: ProcessSample, state: str) -> None:
    assert diagnose(look(0, stirs()), look(3, after)).state == state


@pytest.mark.parametrize(
    ("io", "disk", "state"), [(5, 4096, "hung"), (5, 32_768, "hung"), (6, 4096, "unsure"), (5, 200_000, "alive")]
)
def test_a_jvm_that_touches_its_counters_does_nothing(io: int, disk: int, state: str) -> None:
    """They are a mapped file of eight pages; a page counts again each time that the kernel has written it."""
    own = thread(9, comm="VM Thread", timeout=0.2, switches=50)
    before, after = (process(2, thread(2, "pause"), own, io=i, disk=d, runtime=JVM) for i, d in ((5, 0), (io, disk)))
    assert diagnose(look(0, before), look(3, after)).state == state


@pytest.mark.parametrize(("bytes_each", "moves"), [(1900, False), (2100, True)])
def test_a_byte_that_processes_pass_on_is_one_byte(bytes_each: int, moves: bool) -> None:
    before, after = (look(at, *(stirs(io=at * bytes_each, pid=pid) for pid in (2, 3, 4))) for at in (1, 4))
    found = compare(before, after)
    assert (found.moves_bytes, round(found.io)) == (moves, 3 * bytes_each)


def test_an_event_loop_beside_another_process_goes_on_with_its_next_timer() -> None:
    pair = {"socket:[1]": Socket("unix", peer="socket:[2]"), "socket:[2]": Socket("unix", peer="socket:[1]")}
    loop = process(2, thread(2, "epoll_wait", reads=(3,), timeout=70.0, remaining=65.0), fds={3: "socket:[1]"})
    other = process(3, thread(3, "epoll_wait", reads=(3,)), fds={3: "socket:[2]"})
    found = twice(loop, other, sockets=pair)
    assert (found.state, found.cause) == ("alive", "timer")


def test_new_pages_count_by_the_cpu_that_a_process_gets() -> None:
    """On a busy machine a tenth of a core brings a tenth of the pages."""

    def works(cpu: int, faults: int) -> ProcessSample:
        return process(2, thread(2, "running", state="R"), state="R", cpu=cpu, faults=faults)

    def verdict(share: float, faults: float) -> str:
        return diagnose(look(0, works(0, 0)), look(10, works(round(10 * HZ * share), round(10 * faults)))).cause

    assert [verdict(1.0, 310), verdict(1.0, 290), verdict(0.1, 31), verdict(0.1, 29)] == ["progress", "busy"] * 2


def test_a_silent_peer_is_never_called_hung() -> None:
    peer = Socket("tcp", "127.0.0.1:5", "10.0.0.1:8080", "ESTABLISHED", 12, 3, 41.0)
    found = twice(at(2, "recvfrom", 3, "socket:[1]"), sockets={"socket:[1]": peer})
    assert (found.state, found.cause) == ("unsure", "network")
    assert "10.0.0.1:8080" in found.reason
    assert "41s" in found.reason
    assert found.evidence["socket"] == {
        "remote": "10.0.0.1:8080", "state": "ESTABLISHED", "received": 12, "sent": 3, "sinceReceiveMs": 41000,
    }  # fmt: skip


def test_bytes_from_the_network_are_life() -> None:
    client = at(2, "recvfrom", 3, "socket:[1]")
    before = look(0, client, sockets={"socket:[1]": Socket("tcp", "", "h:1", "ESTABLISHED", 0, 0, 0.0)})
    after = look(3, client, sockets={"socket:[1]": Socket("tcp", "", "h:1", "ESTABLISHED", 9000, 0, 0.0)})
    assert diagnose(before, after)[:2] == ("alive", "progress")


def test_a_server_with_a_raw_terminal_is_a_server() -> None:
    both = process(2, thread(2, "epoll_wait", reads=(0, 4)), fds={0: "/dev/pts/3", 4: "socket:[1]"}, tty=1, pgid=2)
    listening = {"socket:[1]": Socket("tcp", "127.0.0.1:3000", "", "LISTEN")}
    found = twice(both, sockets=listening, terminal=TTY._replace(canonical=False), screen="ready\n")
    assert (found.state, found.cause) == ("alive", "listening")
    assert "127.0.0.1:3000" in found.reason


def test_busy_names_the_busy_process_and_its_share() -> None:
    sh = process(2, thread(2, "wait4"), comm="sh")
    before, after = process(3, ppid=2, comm="spin"), process(3, ppid=2, comm="spin", cpu=294)
    found = diagnose(look(0, sh, before), look(3, sh, after))
    assert (found.state, found.cause) == ("unsure", "busy")
    assert "spin" in found.reason
    assert "98 %" in found.reason


@pytest.mark.parametrize(
    ("left", "state", "cause"),
    [
        (17.0, "alive", "timer"),
        (600.0, "alive", "timer"),
        (7200.0, "unsure", "timer"),
        (1e12, "hung", "idle"),
        (FOREVER, "hung", "idle"),
    ],
)
def test_a_sleep_is_judged_by_what_is_left_of_it(left: float, state: str, cause: str) -> None:
    found = twice(process(2, thread(2, "clock_nanosleep", timeout=left, remaining=left)))
    assert (found.state, found.cause) == (state, cause)


def test_a_process_left_by_an_ended_command_is_a_leak() -> None:
    found = twice(process(5, thread(5, "pause"), comm="daemon"), leader=2)
    assert (found.state, found.cause) == ("hung", "leak")
    assert "daemon [5]" in found.reason


def test_a_tree_without_a_live_process_is_unknown() -> None:
    assert twice(process(2, state="Z"))[:2] == ("unsure", "unknown")
    assert twice()[:2] == ("unsure", "unknown")


def test_a_process_whose_first_thread_has_ended_is_not_dead() -> None:
    half = process(2, thread(2, "", state="Z"), thread(3, "nanosleep", timeout=5.0, remaining=5.0), state="Z")
    assert twice(half)[:2] == ("alive", "timer")


def test_the_json_of_a_diagnosis_has_its_fields_in_order() -> None:
    told = twice(process(2)).to_json()
    assert list(told) == ["state", "cause", "reason", "evidence", "processes"]
    assert told["processes"][0]["cpuPercent"] == 0.0
    assert "sinceMs" in told["processes"][0]
    json.dumps(told)


@settings(max_examples=80, deadline=None)
@given(looks(at=0.0), looks(at=3.0))
def test_any_two_looks_give_a_verdict(before: FullSample, after: FullSample) -> None:
    found = diagnose(before, after)
    assert found.state in STATES
    assert found.cause in TABLE
    assert found.reason
    assert "\n" not in found.reason
    json.dumps(found.to_json())
    for reason in (None, "exec_timeout", "no_output_timeout"):
        assert all(line for line in suggestions(found.to_json(), reason))
    assert TABLE[found.cause].why_not or not repeats(found.to_json())


@settings(max_examples=80, deadline=None)
@given(looks(at=0.0), looks(at=3.0), st.randoms(use_true_random=False))
def test_the_order_in_which_processes_are_listed_changes_nothing(
    before: FullSample, after: FullSample, rng: random.Random
) -> None:
    def shuffled(sample: FullSample) -> FullSample:
        items = list(sample.processes.items())
        rng.shuffle(items)
        return sample._replace(processes=dict(items))

    assert diagnose(before, after) == diagnose(shuffled(before), shuffled(after))


def test_children_are_named_in_one_order() -> None:
    parent = process(2, thread(2, "wait4"))
    below = [process(pid, thread(pid, "pause"), ppid=2) for pid in (4, 3)]
    assert twice(parent, *below) == twice(parent, *reversed(below))


@settings(max_examples=100, deadline=None)
@given(looks(), st.sampled_from(["R", "D"]))
def test_a_tree_with_a_running_thread_is_never_hung(sample: FullSample, state: str) -> None:
    """Whatever the rest does: one thread that runs, or waits for a disk, and no standstill is proven."""
    runner = process(77, thread(77, "", state=state, timeout=None), start=1, state=state)
    both = sample._replace(processes={**sample.processes, 77: runner})
    assert diagnose(both, both._replace(at=3.0)).state != "hung"


def recorded(found: Diagnosis) -> ev.Event:
    """As a stall notice carries it, read back from its line."""
    event = messages.event_of(
        act.Stuck(60.0), since="2026-11-15T21:13:27.040Z", diagnosis=found.to_record(), job_id="x"
    )
    read = ev.from_line(ev.to_line(event | {"seq": 10**6, "ts": "2026-11-15T21:13:27.040Z"}))
    assert read is not None
    return read


@pytest.mark.parametrize("count", [1, 20, 600])
@pytest.mark.parametrize("letter", ["x", "界", "\x1b", "\udc80"])
def test_the_diagnosis_of_a_large_tree_fits_into_one_event(count: int, letter: str) -> None:
    lock = Lock("flock", "/" + letter * 4000, 1, letter * 15, True)
    tree = [process(pid, comm=letter * 15, cmd=letter * 1000, hidden=True) for pid in range(3, count + 3)]
    asks = process(10**6, thread(10**6, "flock"), comm=letter * 15, cmd=letter * 1000, lock=lock)
    whole = twice(*tree, asks, notes=(letter * 300,) * 20)
    found = recorded(whole)["diagnosis"]
    assert (found["state"], found["cause"]) == (whole.state, whole.cause)
    assert found["evidence"]["processes"] == count + 1
    assert found["evidence"]["pid"] in [line["pid"] for line in found["processes"]], "the one that the reason names"
    assert found["reason"][:20] == whole.reason[:20]


@settings(max_examples=60, deadline=None)
@given(looks(at=0.0), looks(at=3.0))
def test_no_diagnosis_is_left_out_of_its_event(before: FullSample, after: FullSample) -> None:
    whole = diagnose(before, after)
    found = recorded(whole)["diagnosis"]
    assert found["cause"] == whole.cause
    assert repeats(found) == repeats(whole.to_json())


NOTIFIER = "/tmp/fish.root/fish_universal_variables.notifier"


@pytest.mark.parametrize(("path", "state"), [(NOTIFIER, "hung"), ("/tmp/other", "unsure")])
@pytest.mark.parametrize("outside", [(), ((99, "fish"),)])
def test_a_shell_at_its_prompt_waits_for_no_notice_of_its_fellows(
    path: str, state: str, outside: tuple[tuple[int, str], ...]
) -> None:
    pipes = {path: Pipe(readers=((2, 5),), writers=((2, 5),), outside=outside, searched=True)}
    fds = {0: "/dev/pts/3", 5: path}
    shell = process(2, thread(2, "poll", reads=(0, 5)), fds=fds, tty=1, pgid=2, comm="fish")
    found = twice(shell, terminal=TTY._replace(canonical=False), pipes=pipes, screen="now> ")
    assert (found.state, found.cause) == (state, "input")


@pytest.mark.parametrize("new_memory", [0, 90_000])
def test_a_process_that_is_stopped_in_turn_is_judged_alike_in_each_phase(new_memory: int) -> None:
    def at_the_end(state: str, syscall: str) -> Diagnosis:
        boss = process(2, thread(2, "clock_nanosleep", timeout=0.4))
        worker = process(3, thread(3, "running", state="R"), ppid=2, comm="sh")
        after = worker._replace(cpu=HZ, faults=new_memory, state=state, threads=(thread(3, syscall, state=state),))
        return diagnose(look(0, boss, worker), look(3, boss, after))

    stopped, runs = at_the_end("T", "running"), at_the_end("R", "running")
    assert (stopped.state, stopped.cause) == (runs.state, runs.cause)
    assert stopped.state == ("alive" if new_memory else "unsure")
    assert "stopped and continued" in stopped.reason
