"""A wait: what a thread waits for, in words, and whether that can end by itself.

Each thread gets one `Wait`. Its `kind` says what sort of thing it is, `on` which processes of the tree could
end it, and `ends` when it ends by itself: a number of seconds, FOREVER, or None for "cannot be known", which
is also the answer for everything outside of the tree (a peer, a disk). The rules may call a tree hung only
when every wait in it is endless and everything it waits for is in the tree and endless too.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis.samples import FOREVER, FullSample, Process, Thread
from unhang.core.diagnosis.verdict import seconds

# With which a program wakes itself. Not among them: a signalfd, an io_uring, an epoll set that was not opened
# up; those may be woken from outside.
INTERNAL = ("anon_inode:[eventfd]",)


# Nobody sleeps for a day in a job that is watched by the minute: `sleep infinity` and its kin.
NEVER = 86_400.0


class Wait(NamedTuple):
    kind: str
    text: str
    on: tuple[int, ...] = ()
    ends: float | None = FOREVER
    fd: int | None = None
    shared: bool = False  # one of several things it waits for ...
    beside: tuple[tuple[str, str], ...] = ()  # ... and these are the others: (kind, text)

    @property
    def open_ended(self) -> bool:
        """It may end without help from the tree."""
        return self.ends is None or (self.ends != FOREVER and self.ends < NEVER)


class View(NamedTuple):
    """A sample with what is asked of it again and again already looked up."""

    sample: FullSample
    holders: dict[str, tuple[int, ...]]  # socket link -> pids
    children: dict[int, tuple[int, ...]]  # live ones

    @classmethod
    def of(cls, sample: FullSample) -> View:
        holders: dict[str, list[int]] = {}
        children: dict[int, list[int]] = {}
        for pid, process in sample.processes.items():
            for target in set(process.fds.values()):
                if target.startswith("socket:"):
                    holders.setdefault(target, []).append(pid)
            if not dead(process):
                children.setdefault(process.ppid, []).append(pid)
        return cls(
            sample,
            {link: tuple(pids) for link, pids in holders.items()},
            {pid: tuple(pids) for pid, pids in children.items()},
        )


def dead(process: Process) -> bool:
    return process.state in ("Z", "X") and process.thread_count <= 1


# The JVM's own threads tick for ever, also under a deadlock. Names as the kernel cuts them, at 15 characters.
JVM = (
    "VM Thread", "VM Periodic Tas", "GC Thread", "G1 ", "Reference Handl", "Finalizer", "Signal Dispatch",
    "Service Thread", "Monitor Deflati", "C1 CompilerThre", "C2 CompilerThre", "Notification T",
    "Common-Cleaner", "Sweeper thread", "ZGC", "Shenandoah", "Attach Listener",
)  # fmt: skip


def own_threads(process: Process) -> list[Thread]:
    """Its threads without a runtime's housekeeping."""
    if any(thread.comm == "VM Thread" for thread in process.threads):
        return [each for each in process.threads if not each.comm.startswith(JVM) and each.state != "Z"]
    return [each for each in process.threads if each.state != "Z"]


def is_terminal(target: str) -> bool:
    return target.startswith(("/dev/pts/", "/dev/tty", "/dev/console"))


def lock_text(process: Process) -> str:
    lock = process.lock
    if lock is None:
        return ""
    who = f"held by pid {lock.holder} ({lock.holder_comm or '?'})" if lock.holder else "held by somebody unseen"
    return f"waits for the lock {lock.path or '(path unknown)'} {who}"


def loop(view: View, process: Process, ends: float | None) -> Wait:
    """An event loop that only its own threads, its children or a timer can wake."""
    if below := view.children.get(process.pid, ()):
        return Wait("child", "its event loop waits, and it has children", below, ends)
    return Wait("loop", "its event loop waits for nothing outside: no timer, no connection", ends=ends)


def timer_text(thread: Thread) -> str:
    left = ends_of(thread)
    if left is None:
        return "sleeps, with a timeout"
    if left == FOREVER or left > 86_400 * 365:
        return "sleeps for ever"
    return f"sleeps, wakes by itself in {seconds(left)}"


def ends_of(thread: Thread) -> float | None:
    return thread.remaining if thread.remaining is not None else thread.timeout
