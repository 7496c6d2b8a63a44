"""What one cheap look at a process tree shows: counters that only grow, and who is there.

Two sizes of sample exist, because a silence is cheap to look at and dear to explain. This is the small one,
taken on every look; `core.fullsample` is the one that explains. They are two files because this one is on the
path of every keeper, which imports neither `typing` nor anything that does.

A process is its pid *and* its start time, so that a birth and a death show even when the pid is reused.
Nothing here can read anything: `unhang.procs.sampler.cheap` fills these in, `core.diagnosis.progress` compares
two of them, and a test can write them down by hand.
"""

from __future__ import annotations

from unhang.core.record import Record


class CheapProcess(Record):
    start: int  # ticks since boot: with the pid, the identity
    ppid: int
    comm: str
    cpu: int  # ticks burnt by itself ...
    reaped: int  # ... and by children it has waited for
    io: int  # bytes through read and write, or to and from the disk, whichever is more; 0 where denied
    switches: int  # voluntary, of its main thread
    faults: int  # major: a page had to be fetched, which is how mapped files are read


class CheapSample(Record):
    at: float  # monotonic seconds
    hz: int  # ticks per second
    processes: dict[int, CheapProcess]
    capped: bool = False  # there were more processes than were looked at
