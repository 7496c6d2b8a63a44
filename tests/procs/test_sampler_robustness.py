"""A /proc that vanishes, lies or overflows breaks nothing, and costs a bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.diagnosis.actors import actor, until_blocked, until_state
from unhang.core.diagnosis.rules import diagnose
from unhang.core.diagnosis.samples import ProcessSample
from unhang.procs.linux.procfs import split
from unhang.procs.sampler.cheap import cheap
from unhang.procs.sampler.full import full

NOBODY = 65534


def test_a_process_name_with_parentheses_is_read_whole() -> None:
    source = "open('/proc/self/comm','w').write(') R 1 (x) S'); print('READY'); input()"
    with actor(source) as job:
        seen = cheap(os.getpid()).processes[job.pid]
        assert (seen.comm, seen.ppid) == (") R 1 (x) S", os.getpid())
        assert full(os.getpid()).processes[job.pid].comm == ") R 1 (x) S"


@pytest.mark.parametrize("line", [b"", b"1", b"1 (", b"1 (x", b"1 (x) S 1", b")(", b"1 () "])
def test_a_torn_stat_line_is_a_process_that_is_gone(line: bytes) -> None:
    assert split(line) is None


def test_processes_that_vanish_during_a_look_break_no_look() -> None:
    """A tree that is born and dies all the time: whatever is caught half-way, no look fails."""
    source = (
        "import os; print('READY', flush=True)\nwhile True:\n"
        " pid = os.fork()\n if pid == 0: os._exit(0)\n os.waitpid(pid, 0)"
    )
    with actor(source):
        for _ in range(60):
            cheap(os.getpid())
            before = full(os.getpid(), network=False)
        assert diagnose(before, full(os.getpid())).state != "hung"


def test_a_zombie_is_listed_as_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.DEVNULL)
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        until_state(process.pid, "Z")
        sample = full(os.getpid())
        assert sample.processes[process.pid].state == "Z"
        assert sample.processes[process.pid].threads == ()
        found = diagnose(sample, full(os.getpid())._replace(at=sample.at + 3))
        assert [line.waits for line in found.processes if line.pid == process.pid] == ["has ended"]
    finally:
        process.wait()


def test_a_process_that_is_not_there_has_an_empty_sample() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert cheap(process.pid, include_root=True).processes == {}
    assert full(process.pid, include_root=True).processes == {}


def test_another_users_process_is_hidden_and_not_skipped() -> None:
    """As root we give up being root in a child and look back at ourselves; as a user we look at process 1."""
    target = os.getpid() if os.geteuid() == 0 else 1
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            seen = full(target, include_root=True, network=False).processes[target]
            os.write(tell, f"{seen.hidden} {bool(seen.threads)} {len(seen.fds)}".encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    assert os.read(told, 100) == b"True True 0"
    os.close(told)


def moves(seen: ProcessSample) -> tuple[object, ...]:
    """Everything that counts on while anybody in there runs, or wants to: a core may be long in coming."""
    if any(thread.state == "R" or thread.syscall == "running" for thread in seen.threads):
        return (object(),)  # equal to nothing
    return seen.cpu, seen.faults, seen.io, [(thread.cpu, thread.faults, thread.switches) for thread in seen.threads]


@pytest.mark.slow
def test_a_look_at_five_thousand_threads_is_bounded_and_says_so() -> None:
    source = (
        "import threading; threading.stack_size(65536); lock = threading.Lock(); lock.acquire()\n"
        "for _ in range(5000): threading.Thread(target=lock.acquire, daemon=True).start()\n"
        "print('READY'); lock.acquire()"
    )
    with actor(source) as job:
        began = time.process_time()  # how long others hold the cores meanwhile says nothing of it
        sample = full(os.getpid())
        assert time.process_time() - began < 5
        seen = sample.processes[job.pid]
        assert seen.thread_count > 5000
        assert len(seen.threads) < 5000
        assert seen.threads[0].tid == job.pid, "the main thread is always among those looked at"
        assert any("of 5001 threads" in note for note in sample.notes)
        assert cheap(os.getpid()).processes[job.pid].start == seen.start
        # until the start of so many threads is over: what they burn in it is movement, and rightly called alive; and of
        # this one process alone, since others below us may come and go
        sample, after = (full(job.pid, include_root=True) for _ in range(2))
        while moves(after.processes[job.pid]) != moves(sample.processes[job.pid]):
            sample, after = after, full(job.pid, include_root=True)
        found = diagnose(sample, after._replace(at=sample.at + 3))
        assert found.state == "unsure", "what was not looked at cannot be proven"
        assert found.evidence["notes"]


@pytest.mark.slow
def test_a_look_at_a_hundred_thousand_descriptors_is_bounded_and_says_so() -> None:
    """Or as many as this machine lets one process have."""
    source = (
        "import os, resource\n"
        "try: resource.setrlimit(resource.RLIMIT_NOFILE, (100_100, 100_100))\n"
        "except ValueError: resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(7)[1],) * 2)\n"
        "for _ in range(min(100_000, resource.getrlimit(7)[0] - 50)): os.dup(0)\n"
        "fd = os.dup(0); print('READY'); os.read(fd, 1)"
    )
    with actor(source) as job:
        until_blocked(job.pid, "read")
        began = time.process_time()
        sample = full(os.getpid())
        assert time.process_time() - began < 5
        seen = sample.processes[job.pid]
        assert len(seen.fds) <= 1100
        [waited] = seen.threads[0].reads
        assert seen.fds[waited].startswith("pipe:"), "the one it waits for is known all the same"
        assert any("descriptors" in note for note in sample.notes)


def test_a_stopped_process_can_be_looked_at() -> None:
    with actor("print('READY'); input()") as job:
        os.kill(job.pid, signal.SIGSTOP)
        until_state(job.pid, "T")
        assert full(os.getpid()).processes[job.pid].threads[0].state == "T"
