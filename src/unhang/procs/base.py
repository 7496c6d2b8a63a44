"""The types of `procs`, and what a system must provide to own a tree of processes (`Tree`).

`linux/tree.py` proves emptiness by the kernel's word (a subreaper's ECHILD). `posix/tree.py` does what every Unix
allows, a process group and a walk of the tree, and says so (`proof` is False).
"""

from __future__ import annotations

import os

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

# The start time and the state of a process that is known to exist but cannot be looked at.
UNKNOWN = "?"
# The user of a socket that belongs to no process of this machine.
NO_USER = -1

# What a file watch reports, as bits. The numbers are those of inotify, so that Linux needs no translation.
CHANGED = 0x2  # the file was written to
ATTRIBUTES = 0x4  # its metadata changed; losing its last name counts
WRITTEN = 0x8  # a file in the folder, or the file itself, was closed after writing
ADDED = 0x180  # an entry was created in the folder, or moved into it
REMOVED = 0x240  # an entry of the folder was deleted, or moved away
GONE = 0xC00  # the watched file or folder itself was deleted, or moved away
UNMOUNTED = 0x2000  # reported only: its file system went away
OVERFLOWED = 0x4000  # reported only: too much happened at once, and some of it was dropped
RELEASED = 0x8000  # reported only: the watch is gone, and its number may be used again


class ProcessInfo(Record):
    """A process at one moment. Its identity is pid *and* start time: a pid alone may be another process's by now.

    A zero among the last five means that the system did not say.
    """

    pid: int
    start: str  # comparable with that of the same pid only; on Linux, clock ticks since boot
    ppid: int
    state: str  # one letter, as `ps` shows it
    name: str
    group: int = 0
    session: int = 0
    terminal: int = 0  # device number of its controlling terminal, as in st_rdev
    foreground: int = 0  # the process group in the foreground of that terminal
    threads: int = 0

    @property
    def is_dead(self) -> bool:
        """Return whether the process has exited, waited for or not.

        Its state is that of its first thread, which may end while the others go on.
        """
        return self.state in "ZX" and self.threads <= 1


class Survey(Record):
    """The living members that were found, parents before children.

    `unseen` says why others may be missing (/proc cannot be read, a process is hidden); empty: these are all.
    """

    found: list[ProcessInfo]
    unseen: str = ""


class Signalled(Record):
    """Which processes got a signal, and which could not be reached (another user's).

    `group`: the process group that was signalled as a whole, because not every member could be seen; `unseen`: why.
    """

    reached: list[ProcessInfo]
    denied: list[ProcessInfo]
    group: int | None = None
    unseen: str = ""


class Reaped(Record):
    """Exit statuses by pid, and whether nothing is left to wait for."""

    exits: dict[int, int]
    empty: bool


class Stack(Record):
    """The stack of one process. `tool` is empty where none could be used; `text` then says why."""

    pid: int
    comm: str
    tool: str
    text: str


def signal_members(members: Iterable[ProcessInfo], send: Callable[[ProcessInfo], bool]) -> Signalled:
    """Signal each member by `send`, which returns False for one that is gone, and sort them by what came of it."""
    reached: list[ProcessInfo] = []
    denied: list[ProcessInfo] = []
    unseen = ""
    for process in members:
        try:
            if send(process):
                reached.append(process)
        except ProcessLookupError:
            continue
        except PermissionError:
            denied.append(process)
        except OSError as error:
            unseen = unseen or f"process {process.pid} cannot be signalled: {error.strerror}"
    return Signalled(reached, denied, None, unseen)


def signal_number(pid: int, signals: tuple[int, ...]) -> bool:
    """Signal the process that has this number. False: none has. PermissionError: it is another user's."""
    try:
        for number in signals:
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def signal_group(group: int, signals: tuple[int, ...]) -> bool:
    """Signal a process group as a whole. False: it has no member, or none that we may signal."""
    try:
        for number in signals:
            os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if TYPE_CHECKING:

    class Tree(Protocol):
        """Everything below this process, whatever it does to get away."""

        proof: bool

        def adopt(self) -> None:
            """Make orphans below this process its children. Call before the first spawn."""

        def spawned(self, leader: int) -> None:
            """Note the leader of the tree, once it is known."""

        def survey(self) -> Survey:
            """Return all living members as far as they can be seen, and why if not."""

        def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
            """Send each of the signals to every member, parents first, never to a recycled pid.

            `only`: to this direct child alone. Where members cannot be listed, the leader's process group gets the
            signals as a whole.
            """

        def allocate(self, fd: int, offset: int, length: int) -> None:
            """Reserve blocks for a file beyond its end, without changing its size; OSError where there are none."""

        def reap(self) -> Reaped:
            """Collect every exit there is. `empty` is the proof that nothing is left (where `proof` is True)."""

    class FileWatch(Protocol):
        """Is told when files and folders change. `fd` is readable then, and -1 where the system has no such thing."""

        fd: int

        def add(self, path: str, events: int) -> int | None:
            """Watch a file or folder, also for further events. None: it is not there, or there are too many watches."""

        def remove(self, watch: int) -> None:
            """Stop watching."""

        def read(self) -> list[tuple[int, int, str]]:
            """Return (watch, events, name of the entry in the folder) of everything there is, without waiting."""

        def close(self) -> None:
            """Give everything back."""
