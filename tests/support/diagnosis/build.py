"""Samples written by hand, as short as they can be said; and arbitrary ones."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from unhang.core.diagnosis.counters import CheapProcess, CheapSample
from unhang.core.diagnosis.samples import (
    FOREVER,
    Common,
    FullSample,
    Lock,
    Pipe,
    ProcessSample,
    Socket,
    TerminalSettings,
    Thread,
)

HZ = 100


def cheap(at: float, **processes: CheapProcess) -> CheapSample:
    return CheapSample(at, HZ, {int(name[1:]): process for name, process in processes.items()})


def counters(comm: str = "work", cpu: int = 0, io: int = 1, start: int = 1, **more: int) -> CheapProcess:
    reaped, disk, faults = (more.get(name, 0) for name in ("reaped", "disk", "faults"))
    return CheapProcess(start, more.get("ppid", 1), comm, cpu, reaped, io, faults, disk, bool(more.get("ready")))


def thread(tid: int, syscall: str = "futex", **more: Any) -> Thread:
    settings: dict[str, Any] = {"state": "S", "timeout": FOREVER, "switches": 7, **more}
    return Thread(tid, syscall=syscall, **settings)


def process(pid: int, *threads: Thread, **more: Any) -> ProcessSample:
    found = threads or (thread(pid),)
    settings: dict[str, Any] = {"comm": f"p{pid}", "state": "S", "start": pid, "ppid": 1, "io": 1, **more}
    return ProcessSample(pid, threads=found, thread_count=len(found), **settings)


def look(at: float, *processes: ProcessSample, **more: Any) -> FullSample:
    return FullSample(at, HZ, {each.pid: each for each in processes}, **more)


_pids = st.integers(2, 9)
_fds = st.integers(0, 5)
_LINKS = (
    "/dev/pts/3", "/dev/null", "pipe:[1]", "pipe:[2]", "socket:[1]", "socket:[2]", "anon_inode:[eventfd]",
    "anon_inode:inotify", "anon_inode:[timerfd]", "/tmp/x.lock", "",
)  # fmt: skip
_CALLS = (
    "read", "write", "poll", "epoll_wait", "select", "futex", "wait4", "pause", "nanosleep", "flock", "connect",
    "accept", "recvfrom", "openat", "restart_syscall", "semop", "msgrcv", "running", "", "syscall 999",
    "rt_sigtimedwait",
)  # fmt: skip
_WORDS = ("", "x", "/x/y", "\x1b[31m", "界\n", "\udc80")


# A thread and a process have twenty fields each. All of them come from one drawn number: to draw each by itself takes
# a hundred times as long. How many threads and processes there are is drawn, so that a failing look still shrinks.
def _seconds(rng: random.Random) -> float | None:
    return rng.choice((None, FOREVER, 0.0, rng.uniform(0, 2), rng.uniform(0, 1e6)))


def _pid_or_none(rng: random.Random) -> int | None:
    return rng.choice((None, rng.randint(2, 9)))


def _some_fds(rng: random.Random, most: int) -> tuple[int, ...]:
    return tuple(rng.randint(0, 5) for _ in range(rng.randint(0, most)))


def _any_thread(seed: int) -> Thread:
    rng = random.Random(seed)
    return Thread(
        tid=rng.randint(2, 9),
        comm=rng.choice(("main", "VM Thread", "GC Thread#0", ") R 1")),
        state=rng.choice("SRDTtZI"),
        cpu=rng.randint(0, 500),
        switches=rng.randint(0, 3),
        wchan=rng.choice(("", "0", "fifo_open", "wait_for_partner", "flock_lock_inode_wait", "kernel_clone")),
        syscall=rng.choice(_CALLS),
        reads=_some_fds(rng, 3),
        writes=_some_fds(rng, 2),
        timeout=_seconds(rng),
        remaining=_seconds(rng),
        asleep=rng.choice((None, rng.uniform(0, 1e5))),
        futex=rng.choice((None, 0, 1, 2, 3)),
        owner=_pid_or_none(rng),
        shared=rng.random() < 0.5,
        child=_pid_or_none(rng),
        path=rng.choice(_WORDS),
        unseen=rng.random() < 0.5,
        common=rng.choice(("", "00:01:7", "sem:1")),
        static=rng.random() < 0.5,
    )


def _any_lock(rng: random.Random) -> Lock:
    kind, path, comm = rng.choice(("flock", "posix")), rng.choice(_WORDS), rng.choice(_WORDS)
    return Lock(kind, path, _pid_or_none(rng), comm, rng.random() < 0.5)


def _any_process(seed: int, threads: list[Thread]) -> ProcessSample:
    rng = random.Random(seed)
    return ProcessSample(
        pid=rng.randint(2, 9),
        ppid=rng.randint(2, 9),
        pgid=rng.randint(2, 9),
        tty=rng.randint(0, 1),
        tpgid=rng.randint(-1, 9),
        start=rng.randint(0, 2),
        comm=rng.choice(("sh", "sleep", "cc1", "\x1b[31m", ") R 1")),
        cmd=rng.choice(_WORDS),
        state=rng.choice("SRDTtZXI"),
        cpu=rng.randint(0, 500),
        reaped=rng.randint(0, 500),
        io=rng.choice((0, 1, rng.randint(0, 10**6))),
        disk=rng.choice((0, 1, rng.randint(0, 10**6))),
        fetched=rng.choice((0, 1, 2)),
        faults=rng.randint(0, 1000),
        threads=tuple(threads),
        thread_count=rng.randint(0, 3),
        fds={fd: rng.choice(_LINKS) for fd in _some_fds(rng, 4)},
        lock=rng.choice((None, _any_lock(rng))),
        catches_alarm=rng.random() < 0.5,
        hidden=rng.random() < 0.5,
        runtime=rng.choice(("", "go", "ocaml", "python", "erlang", "jvm")),
    )


_seeds = st.integers(0, 2**32)
threads = st.builds(_any_thread, _seeds)
processes = st.builds(_any_process, _seeds, st.lists(threads, max_size=3))
_sockets = st.builds(
    Socket,
    family=st.sampled_from(["tcp", "udp", "unix"]),
    local=st.just("127.0.0.1:1"),
    remote=st.sampled_from(["", "127.0.0.1:2"]),
    state=st.sampled_from(["ESTABLISHED", "LISTEN", "SYN_SENT", "CLOSE_WAIT"]),
    received=st.one_of(st.none(), st.integers(0, 10**4)),
    sent=st.one_of(st.none(), st.integers(0, 10**4)),
    since_receive=st.one_of(st.none(), st.floats(0, 1e4)),
    peer=st.sampled_from(["", "socket:[1]", "socket:[2]"]),
)


_commons = st.builds(
    Common,
    inside=st.lists(_pids, max_size=2).map(tuple),
    outside=st.sampled_from([(), ((77, "daemon"),)]),
)


def _tree(found: list[ProcessSample]) -> dict[int, ProcessSample]:
    return {each.pid: each for each in found}


@st.composite
def looks(draw: st.DrawFn, at: float = 0.0) -> FullSample:
    tree = _tree(draw(st.lists(processes, max_size=4)))
    inside = st.lists(st.tuples(st.sampled_from(sorted(tree)), _fds), max_size=2).map(tuple) if tree else st.just(())
    pipes = draw(st.dictionaries(st.sampled_from(["pipe:[1]", "pipe:[2]"]), st.builds(Pipe, inside, inside)))
    return FullSample(
        at=at,
        hz=HZ,
        processes=tree,
        others=_tree(draw(st.lists(processes, max_size=2))),
        sockets=draw(st.dictionaries(st.sampled_from(["socket:[1]", "socket:[2]"]), _sockets)),
        pipes=pipes,
        commons=draw(st.dictionaries(st.sampled_from(["00:01:7", "sem:1"]), _commons)),
        terminal=draw(
            st.one_of(
                st.none(), st.builds(TerminalSettings, st.just("/dev/pts/3"), st.booleans(), st.booleans(), _pids)
            )
        ),
        screen=draw(st.one_of(st.text(max_size=20), st.sampled_from(["Password: ", "go on? [y/N] ", "\x1b[?1049h~"]))),
        leader=draw(st.one_of(st.none(), _pids)),
        notes=draw(st.sampled_from([(), ("looked at 1 of 2 processes",)])),
    )


cheap_processes = st.builds(
    CheapProcess, st.integers(0, 2), _pids, st.sampled_from(["sh", "sleep", "cc1"]), st.integers(0, 10**5),
    st.integers(0, 10**5), st.integers(0, 10**9), st.integers(0, 10**5),
)  # fmt: skip


@st.composite
def cheap_looks(draw: st.DrawFn) -> CheapSample:
    return CheapSample(draw(st.floats(0, 1e6)), HZ, draw(st.dictionaries(_pids, cheap_processes, max_size=5)))
