"""The full look: everything the kernel shows of why a tree is quiet.

Bounded on purpose. A tree may hold a fork bomb, a process with 5,000 threads or one with 100,000 descriptors,
and the look must still end within a fraction of a second; what was left out is said in `notes`, and the rules
then refuse to prove anything from what they did not see.
"""

from __future__ import annotations

import os
import time

from unhang.core.diagnosis.runtimes import ERLANG, GO, JVM, MONO, NODE, PYTHON, RUBY
from unhang.core.diagnosis.samples import FOREVER, FullSample, ProcessSample, Socket
from unhang.procs.command_line import arguments_of
from unhang.procs.linux import descriptors
from unhang.procs.linux.procfs import is_dead, read
from unhang.procs.linux.sampler.alarms import may_set_alarm
from unhang.procs.linux.sampler.cheap import read_io
from unhang.procs.linux.sampler.commons import commons_of
from unhang.procs.linux.sampler.files import MOST_FDS, UNSEEN, pipes_of, terminal_of
from unhang.procs.linux.sampler.locks import locks_of
from unhang.procs.linux.sampler.net import sockets_of
from unhang.procs.linux.sampler.runtimes import (
    gil_handovers,
    has_own_timer,
    maps_ruby,
    marked,
    runtime_of,
    wanted_by_go,
)
from unhang.procs.linux.sampler.threads import MOST_THREADS, Reader, SchedulerClocks, syscall_table
from unhang.procs.linux.sampler.tree import head_of, walk
from unhang.procs.linux.sampler.waited import Strangers, masters_of, patience_of, timers_and_pids, tracees_of

MOST_PROCESSES = 512
MOST_THREADS_IN_ALL = 2048
MOST_FDS_IN_ALL = 16_384
MOST_SCREEN = 4096
# Of a process outside that holds a lock we want, what it was started by, and what is below that.
MOST_OTHERS = 32
# So often it is tried to see two numbers of one process at one moment.
_AT_ONCE = 4
_SIGHUP, _SIGINT, _SIGQUIT = 1 << 0, 1 << 1, 1 << 2
_SIGUSR1, _SIGUSR2, _SIGPIPE, _SIGALRM, _SIGTERM = 1 << 9, 1 << 11, 1 << 12, 1 << 13, 1 << 14
_SIGTTIN, _SIGTTOU, _SIGVTALRM, _SIGPROF = 1 << 20, 1 << 21, 1 << 25, 1 << 26
# No program has such a handler by chance. A socket, a pipe, a directory or a lease sends SIGIO or SIGURG at news;
# a message queue, or any process, a real-time signal (of which the C library keeps the first two for itself). SIGHUP
# tells a daemon to read its settings again, SIGTTIN and SIGTTOU a server to run one worker more or less.
_SIGURG, _SIGIO, _REAL_TIME = 1 << 22, 1 << 28, (1 << 64) - (1 << 33)
_WAKES = _SIGHUP | _SIGUSR1 | _SIGUSR2 | _SIGTTIN | _SIGTTOU | _SIGURG | _SIGIO | _REAL_TIME
# Many have these for their terminal: SIGCONT, SIGWINCH, SIGPWR. Only a wait for a signal may be meant for them.
_SIGPWR, _SIGXCPU = 1 << 29, 1 << 23
_OTHERS = 1 << 17 | 1 << 27 | _SIGPWR
# With these two the collector of Guile and others stops threads, and lets them go on.
_COLLECTS = _SIGPWR | _SIGXCPU
# One that catches one of these beside SIGHUP and SIGALRM, or beside very many, catches everything.
_ALL = _SIGTTIN | _SIGVTALRM | _SIGPROF
_MANY = 16
# What PHP catches by itself, whatever its program does.
_PHP = _SIGHUP | _SIGINT | _SIGQUIT | _SIGUSR1 | _SIGUSR2 | _SIGTERM | _SIGPROF
# Beside one of these SIGHUP may be one more end, at which traces are removed (git, make, ssh).
_ENDS = _SIGQUIT | _SIGPIPE
# What a shell lets a command ignore that it starts with &.
_BACKGROUND = _SIGINT | _SIGQUIT


def full(
    root: int,
    *,
    include_root: bool = False,
    screen: bytes = b"",
    pty_master: int | None = None,
    network: bool = True,
    leader: int | None = None,
    still: float | None = None,
) -> FullSample:
    """Look at everything below `root`. `screen` is the end of what the job printed; `pty_master` our end of its
    terminal; `leader` the first process of the job, so that its left-overs can be told from it; `still` for how many
    seconds it is known that no process in there has run."""
    began = time.monotonic()
    found, capped = walk(root, include_root=include_root)
    # we may be in the tree of our own shell, whom our own work must not explain: to it we are a stranger
    inside = root != os.getpid() and found.pop(os.getpid(), None) is not None
    notes: list[str] = []
    if capped or len(found) > MOST_PROCESSES:
        notes.append(f"looked at {MOST_PROCESSES} of {len(found)}{'+' if capped else ''} processes")
    look = _Look(still)
    processes: dict[int, ProcessSample] = {}
    for pid, parts in list(found.items())[:MOST_PROCESSES]:
        processes[pid] = look.process(pid, parts)
    if inside:
        _leave_out_readers(processes)
    processes, commons = commons_of(processes, foreign=include_root)
    locks = locks_of(processes)
    for pid, lock in locks.items():
        processes[pid] = processes[pid]._replace(lock=lock)
    others: dict[int, ProcessSample] = {}
    awaited = {pid for lock in locks.values() if lock.blocked for pid in lock.owners}
    for holder in dict.fromkeys(pid for lock in locks.values() for pid in lock.owners):
        if holder not in processes and holder not in others and holder not in UNSEEN:
            around, more = walk(head_of(holder, root) if holder in awaited else holder, include_root=True)
            if more or len(around) > MOST_OTHERS:
                notes.append(f"looked at {MOST_OTHERS} of {len(around)} processes of pid {holder}, which holds a lock")
            for pid, parts in list(around.items())[:MOST_OTHERS]:
                if pid not in processes:
                    others[pid] = look.process(pid, parts)
    notes += look.notes
    keepers = set() if inside else {os.getpid()} if include_root else {os.getpid(), root}
    sockets = _sockets(processes, network)
    strangers = Strangers(processes, pipes_of(processes), sockets, keepers, commons)
    processes = strangers.processes()
    for pid, traced in tracees_of(processes).items():
        processes[pid] = processes[pid]._replace(tracees=traced)
    return FullSample(
        at=began,
        hz=os.sysconf("SC_CLK_TCK"),
        processes=processes,
        others=others,
        sockets=sockets,
        pipes=strangers.pipes(),
        commons=strangers.commons(),
        terminal=terminal_of(processes, pty_master, None if include_root else root),
        masters=masters_of(processes),
        screen=screen[-MOST_SCREEN:].decode("utf-8", "replace"),
        leader=leader,
        notes=tuple(notes),
        took=time.monotonic() - began,
    )


def _leave_out_readers(processes: dict[int, ProcessSample]) -> None:
    """Take out who reads what we print (`| less`): they wait for us, whatever there is to explain."""
    ours = {descriptors.target(os.getpid(), fd) for fd in (1, 2)}
    while True:
        pipes = {target for target in ours if target.startswith("pipe:")}
        readers = [pid for pid, process in processes.items() if process.fds.get(0) in pipes]
        ours = {processes[pid].fds.get(fd, "") for pid in readers for fd in (1, 2)}
        for pid in readers:
            del processes[pid]
        if not readers:
            return


class _Look:
    """The budgets of one look."""

    def __init__(self, still: float | None) -> None:
        self.notes: list[str] = []
        self._still = still
        self._threads = MOST_THREADS_IN_ALL
        self._fds = MOST_FDS_IN_ALL
        self._table = syscall_table()
        self._clocks = SchedulerClocks()
        self._alarms: dict[str, bool] = {}
        if not self._table:
            self.notes.append(f"no table of system calls for {os.uname().machine}")

    def process(self, pid: int, parts: tuple[str, list[bytes]]) -> ProcessSample:
        comm, fields = parts
        status = read(f"/proc/{pid}/status")
        count = int(fields[17])
        uid = _field(status, b"\nUid:", 10)
        dead = is_dead(fields)
        reader = Reader(pid, self._table, self._clocks, self._still)
        try:
            most = max(1, min(MOST_THREADS, self._threads))
            threads, count = ((), count) if dead else reader.threads(count, most, parts, status)
            runtime, futile = runtime_of(pid, threads), None
            # Its threads wake to look at monitors, and it counts that: both numbers must be of one moment, at which
            # none of them has been counted and does not sleep yet.
            for _ in range(_AT_ONCE if runtime == JVM else 0):
                futile = self._futile(pid, uid)
                threads, count = reader.threads(count, most, parts, status)
                if futile == self._futile(pid, uid) and all(each.state != "R" for each in threads):
                    break
        finally:
            reader.close()
        self._threads -= len(threads)
        if 0 < len(threads) < count:
            self.notes.append(f"looked at {len(threads)} of {count} threads of {comm} [{pid}]")
        seen = ({}, 0) if dead else descriptors.targets(pid, max(64, min(MOST_FDS, self._fds)))
        fds, fd_count = seen if seen is not None else ({}, 0)
        self._fds -= len(fds)
        if fd_count > len(fds):
            self.notes.append(f"looked at {len(fds)} of {fd_count} descriptors of {comm} [{pid}]")
            for thread in threads:
                for fd in thread.reads + thread.writes:
                    fds.setdefault(fd, descriptors.target(pid, fd))
        timerfds, pidfds = timers_and_pids(pid, fds, threads)
        if runtime == PYTHON:
            threads = marked(pid, threads)
        handled, ignored = _field(status, b"\nSigCgt:", 16), _field(status, b"\nSigIgn:", 16)
        catches_all = handles_all(handled) or is_php(handled)
        traps: bool | None = None
        if catches_all and not runtime and maps_ruby(pid):
            from unhang.procs.linux.sampler.handlers import ruby_traps  # most trees have no Ruby

            runtime, traps = RUBY, ruby_traps(pid)
        caught = handled_on_purpose(wanted_by_go(pid, threads) if runtime == GO else handled, runtime)
        caught |= _hidden_in_runtime(pid, handled, runtime)
        io, disk = read_io(read(f"/proc/{pid}/io", 512))
        return ProcessSample(
            pid=pid,
            ppid=int(fields[1]),
            pgid=int(fields[2]),
            tty=int(fields[4]),
            tpgid=int(fields[5]),
            start=int(fields[19]),
            comm=comm,
            cmd=arguments_of(pid, 1024),
            state=fields[0].decode(),
            cpu=int(fields[11]) + int(fields[12]),
            reaped=int(fields[13]) + int(fields[14]),
            io=io,
            disk=disk,
            fetched=int(fields[9]),
            faults=int(fields[7]) + int(fields[9]),
            threads=threads,
            thread_count=count,
            fds=fds,
            catches_alarm=bool(caught & _SIGALRM),
            # One that wakes by itself goes on in any case.
            sets_alarm=not (handled | ignored) & _SIGALRM
            and (bool(runtime) or all(each.timeout in (None, FOREVER) for each in threads))
            and may_set_alarm(pid, self._alarms),
            catches_signal=bool(caught & (_WAKES & ~_SIGHUP if caught & _ENDS else _WAKES)),
            catches_other=bool(caught & _OTHERS),
            catches_reload=bool(caught & _SIGHUP and caught & _ENDS) or traps is True,
            catches_all=catches_all and bool(handled & _WAKES) and traps is not False,
            background=ignored & _BACKGROUND == _BACKGROUND,
            tracer=_field(status, b"\nTracerPid:", 10),
            timers=has_own_timer(pid),
            timerfds=timerfds,
            patience=patience_of(pid, fds, threads),
            pidfds=pidfds,
            futile=futile,
            hidden=seen is None,
            handovers=gil_handovers(pid, threads) if runtime == PYTHON else None,
            runtime=runtime,
        )

    @staticmethod
    def _futile(pid: int, uid: int) -> int | None:
        from unhang.procs.linux.sampler.jvm import futile_wakeups  # most trees have no JVM

        return futile_wakeups(pid, uid)


def handled_on_purpose(caught: int, runtime: str) -> int:
    """Return the signals that a process handles on purpose. One that handles everything does so to put the terminal
    right when it dies (readpassphrase, OpenSSL, npm's signal-exit), or because its interpreter does (Ruby, bash). PHP
    has some of its own. The JVM and Mono stop their threads by signals, Node opens a debugger's port, Erlang writes a
    dump.
    """
    own = {
        JVM: _SIGHUP | _SIGUSR2 | _REAL_TIME, MONO: _REAL_TIME | _OTHERS, NODE: _SIGUSR1, ERLANG: _SIGUSR1,
    }.get(runtime, 0)  # fmt: skip
    if caught & _COLLECTS == _COLLECTS:
        own |= _SIGPWR
    if is_php(caught):
        return caught & ~(own | _PHP)
    return 0 if handles_all(caught) else caught & ~own


def _hidden_in_runtime(pid: int, caught: int, runtime: str) -> int:
    """The signals that a program handles on purpose among those that its runtime handles in any case.

    Where it cannot be read which these are, all of them may be meant.
    """
    hidden = 0
    if is_php(caught):
        from unhang.procs.linux.sampler.handlers import handled_by_php  # most trees have no PHP

        meant = handled_by_php(pid)
        hidden = caught & _PHP if meant is None else caught & _PHP & meant
    elif runtime == JVM and caught & _SIGHUP:
        from unhang.procs.linux.sampler.handlers import java_handles_signals  # and no JVM

        hidden = _SIGHUP if java_handles_signals(pid) else 0
    return hidden


def is_php(caught: int) -> bool:
    """Return whether these are the signals of PHP, and perhaps some of its program."""
    return caught & _PHP == _PHP and not caught & _SIGVTALRM


def handles_all(caught: int) -> bool:
    """Return whether a process handles so many signals that nothing tells which of them it means."""
    cleans = caught & (_SIGHUP | _SIGALRM) == _SIGHUP | _SIGALRM or caught.bit_count() >= _MANY
    return bool(caught & _ALL) and cleans


def _field(status: bytes, name: bytes, base: int) -> int:
    at = status.find(name)
    try:
        return int(status[at + len(name) :].split(None, 1)[0], base) if at >= 0 else 0
    except (ValueError, IndexError):
        return 0


def _sockets(processes: dict[int, ProcessSample], network: bool) -> dict[str, Socket]:
    links: dict[str, int] = {}
    for pid, process in processes.items():
        for fd, target in process.fds.items():
            # Without the network only a socket on stdin matters: the job may wait for input there.
            if target.startswith("socket:") and (network or fd == 0):
                links.setdefault(target, pid)
    return sockets_of(links, inet=network)
