"""What one cheap look at a process tree shows: which processes are there, and counters that only grow.

There are two sizes of sample, because a silence is cheap to look at and dear to explain. This is the small one, taken
on every look; `samples` is the one that explains. They are two files because this one is on the path of every keeper,
which imports neither `typing` nor anything that does.

A process is its pid *and* its start time, so that a birth and a death show even when the pid is reused. Nothing here
can read anything: the sampler fills these in, `progress` compares two of them, and a test can write them down by
hand.
"""

from __future__ import annotations

from unhang.core.record import Record


class CheapProcess(Record):
    """The counters of one process."""

    start: int  # ticks since boot: with the pid, the identity
    ppid: int
    comm: str
    cpu: int  # ticks burnt by the process itself ...
    reaped: int  # ... and by the children that it has waited for
    io: int  # bytes through read and write; 0 where denied
    faults: int  # major: a page had to be fetched, which is how mapped files are read
    disk: int = 0  # bytes to and from the disk, by whatever way; 0 where denied
    ready: bool = False  # it runs, or waits for its turn on a busy machine


class CheapSample(Record):
    """The processes of a tree at one moment."""

    at: float  # monotonic seconds
    hz: int  # ticks per second
    processes: dict[int, CheapProcess]
