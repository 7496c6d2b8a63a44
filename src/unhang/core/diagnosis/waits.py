"""A wait: what a thread waits for, and whether that can end by itself.

Each thread has one `Wait`. Its `kind` says what sort of thing it is, `on` which processes of the tree could end it,
and `ends` when it ends by itself: a number of seconds, FOREVER, or None for "cannot be known", which is also the
answer for everything outside of the tree (a peer, a disk). The rules may call a tree hung only when every wait in it
is endless and everything it waits for is in the tree and endless too.

What a rule or a suggestion needs to know of a wait is a field of it. `text` says the same to people, and no code
reads it.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis.samples import FOREVER, FullSample, Lock, ProcessSample, Socket, Thread
from unhang.core.diagnosis.time_left import in_time

# The descriptors with which a program wakes itself. A signalfd, an io_uring or an epoll set that was not opened up is
# not among them: those may be woken from outside.
INTERNAL = ("anon_inode:[eventfd]",)

# A wait that ends later than this counts as endless: no job sleeps for a year, but `sleep infinity` and its kin do.
NEVER = 86_400.0 * 365

# Where input is waited for.
TERMINAL, STDIN, DESCRIPTOR, FIFO = "terminal", "stdin", "descriptor", "fifo"


class Wait(NamedTuple):
    """What one thread waits for."""

    kind: str
    text: str  # for people
    on: tuple[int, ...] = ()
    ends: float | None = FOREVER
    shared: bool = False  # it is one of several things that the thread waits for ...
    beside: tuple[Wait, ...] = ()  # ... and these are the others
    channel: str = ""  # of a wait for input: TERMINAL, STDIN, DESCRIPTOR or FIFO
    socket: Socket | None = None  # of a wait for a peer: the connection
    stranger: bool = False  # a process outside of the job holds the other end, and may use it at any moment

    @property
    def open_ended(self) -> bool:
        """Return whether it may end without help from the tree."""
        return self.ends is None or (self.ends != FOREVER and self.ends < NEVER)


class SampleView(NamedTuple):
    """A sample, with what the rules ask of it again and again already looked up."""

    sample: FullSample
    holders: dict[str, tuple[int, ...]]  # socket link -> pids
    children: dict[int, tuple[int, ...]]  # live ones
    terminals: dict[int, tuple[int, ...]]  # holder of a master -> processes that have its terminals open

    @classmethod
    def of(cls, sample: FullSample) -> SampleView:
        """Return the view of one sample."""
        holders: dict[str, list[int]] = {}
        children: dict[int, list[int]] = {}
        for pid, process in sample.processes.items():
            for target in set(process.fds.values()):
                if target.startswith("socket:"):
                    holders.setdefault(target, []).append(pid)
            if not is_dead(process):
                children.setdefault(process.ppid, []).append(pid)
        terminals: dict[int, list[int]] = {}
        for path, masters in sample.masters.items():
            users = [pid for pid, process in sample.processes.items() if path in process.fds.values()]
            for pid in masters:
                terminals.setdefault(pid, []).extend(each for each in users if each != pid)
        return cls(
            sample,
            {link: tuple(sorted(pids)) for link, pids in holders.items()},
            {pid: tuple(sorted(pids)) for pid, pids in children.items()},
            {pid: tuple(sorted(set(pids))) for pid, pids in terminals.items()},
        )

    def made_by(self, pid: int) -> set[int]:
        """Return the numbers of the terminals whose masters a process holds, as a stat line writes them."""
        return {terminal_number(path) for path, masters in self.sample.masters.items() if pid in masters}

    def names(self, pids: tuple[int, ...]) -> str:
        """Return up to three processes of the tree, for people."""
        return ", ".join(named(self.sample.processes[pid]) for pid in pids[:3])


def named(process: ProcessSample) -> str:
    """Return a process, for people: its name and its pid."""
    return f"{process.comm} [{process.pid}]"


def is_dead(process: ProcessSample) -> bool:
    """Return whether it has ended. A process whose first thread has ended lives on in the others."""
    return process.state in ("Z", "X") and process.thread_count <= 1


def is_terminal(target: str) -> bool:
    """Return whether a descriptor's target is a terminal."""
    return target.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))


def own_terminal(view: SampleView, process: ProcessSample, target: str) -> bool:
    """Return whether a terminal is the job's, or the one that the process sits at.

    Any other is a line to a stranger.
    """
    if not target.startswith("/dev/pts/") or target in view.sample.masters:
        return True
    terminal = view.sample.terminal
    if terminal is None or terminal.path in ("", target):
        return terminal is None or terminal.own
    return terminal.own and process.tty == terminal_number(target)


def terminal_number(path: str) -> int:
    """Return how a stat line writes the number of a pseudo-terminal, whose major number is 136; -1 for another
    terminal.
    """
    if not path.startswith("/dev/pts/") or not path[9:].isdecimal():
        return -1
    minor = int(path[9:])
    return (minor & 0xFF) | 136 << 8 | (minor & ~0xFF) << 12


def strangers(holders: tuple[tuple[int, str], ...]) -> str:
    """Return processes outside of the job, for people."""
    return ", ".join(f"{comm} [{pid}]" if pid else comm for pid, comm in holders[:3])


def holder_of(lock: Lock) -> str:
    """Return the process that holds a lock, for people."""
    return f"pid {lock.holder} ({lock.holder_comm or '?'})" if lock.holder else "a process that cannot be seen"


def for_lock(view: SampleView, process: ProcessSample, lock: Lock) -> Wait:
    """Return a wait for a file lock. Its holder may be in the tree or outside of it."""
    inside = tuple(pid for pid in lock.owners if pid in view.sample.processes)
    if len(inside) > 1:
        # It has inherited the descriptor which holds the lock: it waits for the others that have it.
        inside = tuple(pid for pid in inside if pid != process.pid)
    return Wait("lock", f"waits for the lock {lock.path or '(path unknown)'} held by {holder_of(lock)}", inside)


def for_loop(view: SampleView, process: ProcessSample, ends: float | None) -> Wait:
    """Return the wait of an event loop that only its own threads, its children or a timer can wake."""
    if below := view.children.get(process.pid, ()):
        return Wait("child", "its event loop waits, and it has children", below, ends)
    return Wait("loop", "its event loop waits for nothing outside: no timer, no connection", ends=ends)


def for_gil() -> Wait:
    """Return a wait for Python's global lock, which only the thread that has it can give up."""
    return Wait("gil", "waits for Python's global lock, which another of its threads holds")


def for_timer(ends: float | None, before: str = "") -> Wait:
    """Return a sleep that ends by itself after `ends` seconds. `before` is put before the words."""
    if ends is None:
        text = "with a timeout" if before else "sleeps, with a timeout"
    elif ends == FOREVER or ends > NEVER:
        text = "sleeps for ever"
    else:
        text = f"sleeps, wakes by itself {in_time(ends)}"
    return Wait("timer", before + text, ends=ends)


def ends_of(thread: Thread) -> float | None:
    """Return when the call that a thread sits in ends by itself: what is left of its timeout, or the whole of it."""
    return thread.remaining if thread.remaining is not None else thread.timeout
