"""What the keeper needs of an operating system to own a tree of processes. One file a system implements it.

`linux.py` proves emptiness by the kernel's word (a subreaper's ECHILD). `posix.py` does what the others allow: a
process group and a walk of the tree, and says so (`proof` is False).
"""

from __future__ import annotations

from unhang.core.record import Record

# The start time and the state of a process that is known to be there but cannot be looked at.
UNKNOWN = "?"


class Process(Record):
    """Identity is pid *and* start time: a pid alone may be another process's by now."""

    pid: int
    start: str
    ppid: int
    state: str
    name: str


class Survey(Record):
    """The living members that were found, parents before children.

    `unseen` says why others may be missing (/proc cannot be read, a process is hidden); empty: these are all.
    """

    found: list[Process]
    unseen: str = ""


class Signalled(Record):
    """Which processes got a signal, and which could not be reached (another user's).

    `group`: the process group that was signalled as a whole, because not every member could be seen; `unseen`: why.
    """

    reached: list[Process]
    denied: list[Process]
    group: int | None = None
    unseen: str = ""


class Reaped(Record):
    """Exit statuses by pid, and whether anything is left to wait for."""

    exits: dict[int, int]
    empty: bool


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Tree(Protocol):
        """Everything below this process, whatever it does to get away."""

        proof: bool

        def adopt(self) -> None:
            """Call before the first spawn: from now on orphans come to us."""

        def spawned(self, leader: int) -> None:
            """The leader of the tree, once it is known."""

        def survey(self) -> Survey:
            """All living members as far as they can be seen, and why if not."""

        def signal(self, signals: tuple[int, ...], only: int | None = None) -> Signalled:
            """Send each of the signals to every member, parents first, never to a recycled pid.

            `only`: to this direct child alone. Where members cannot be listed, the leader's process group gets the
            signals as a whole.
            """

        def allocate(self, fd: int, offset: int, length: int) -> None:
            """Blocks for a file beyond its end, without changing its size; OSError where there are none."""

        def reap(self) -> Reaped:
            """Collect every exit there is. `empty` is the proof that nothing is left (where `proof` is True)."""
