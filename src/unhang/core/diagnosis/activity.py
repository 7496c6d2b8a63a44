"""What moved between two full looks: the same question as in `progress`, with more to go by.

Here the network counts too (recv() shows in no counter of /proc), and new memory: a process that burns CPU and
touches new pages builds something, one that only burns CPU may be a loop.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis.progress import CPU_SHARE, FAULT_RATE, IO_RATE, IO_RATE_OF_A_SLEEP_LOOP, PAUSES
from unhang.core.diagnosis.runtimes import JVM, own_threads
from unhang.core.diagnosis.samples import FullSample, ProcessSample

# A keep-alive is some ten bytes every few seconds; a server-sent comment likewise. A modem was 40 times this.
NET_RATE = 100.0
# Ten new pages a second are an allocator's noise. A compiler or a test touches thousands in a second of a core's time;
# a loop whose collector has found the size of its heap, a hundred now and then.
FAULTS_RATE = 300.0
FAULTS_NOISE = 10.0
# The size of the file in which a JVM counts what it does, and which `jstat` reads.
JVM_COUNTERS = 32 * 1024
# Below this much CPU no process computes; event loops turn over.
BUSY_SHARE = 0.15


class Activity(NamedTuple):
    """Rates between two looks, and the processes that came and went."""

    seconds: float
    cpu: float  # share of one core, all processes together
    by_pid: dict[int, float]
    io: float  # bytes a second
    busiest: float  # those of the one process that moved most, without the pages of its own program
    net: float
    faults: float  # a second
    wakeups: float  # voluntary switches a second, without those of a runtime's own threads
    started: tuple[str, ...]
    ended: tuple[str, ...]
    printed: float | None = None  # bytes a second of its output; None: it is not known what it prints

    @property
    def only_pauses(self) -> bool:
        """Return whether processes came or went, and all of them only to sleep."""
        return bool(self.started or self.ended) and PAUSES.issuperset(self.started + self.ended)

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the names of those that came or went for more than a sleep."""
        return tuple(name for name in self.started + self.ended if name not in PAUSES)

    @property
    def any_bytes(self) -> bool:
        """Return whether one byte was moved at all.

        It is enough to veto a proof that nothing moves, and too little to be work.
        """
        return self.io > 0 or self.net > 0

    @property
    def moves_bytes(self) -> bool:
        """Return whether a process has read and written more bytes than housekeeping moves.

        A byte that three processes pass on to each other is one byte, and each has housekeeping of its own.
        """
        return self.busiest >= (IO_RATE_OF_A_SLEEP_LOOP if self.only_pauses else IO_RATE)

    @property
    def takes_memory(self) -> bool:
        """Return whether it touched new pages, for the CPU that it got: on a busy machine it works as slowly as it
        waits.
        """
        return self.faults > FAULTS_NOISE and self.faults >= FAULTS_RATE * min(1.0, self.cpu)

    @property
    def strong(self) -> bool:
        """Return whether the tree moved by any of these measures."""
        return bool(self.workers) or self.cpu >= CPU_SHARE or self.moves_bytes or self.net >= NET_RATE


def compare(before: FullSample, after: FullSample) -> Activity:
    """Return what happened between two looks."""
    seconds = max(after.at - before.at, 1e-3)
    old, new = before.processes, after.processes
    kept = [pid for pid in new if pid in old and old[pid].start == new[pid].start]
    same = set(kept)
    born = [process for pid, process in new.items() if pid not in same]
    gone = [process for pid, process in old.items() if pid not in same]
    ticks = {pid: _burnt(old[pid], new[pid]) for pid in kept}
    ticks |= {process.pid: process.cpu for process in born}
    taken_over = sum(max(0, new[pid].reaped - old[pid].reaped) for pid in kept)
    total = sum(ticks.values()) + max(0, taken_over - sum(process.cpu + process.reaped for process in gone))
    through = sum(max(0, new[pid].io - old[pid].io) for pid in kept) - sum(process.io for process in gone)
    disk = sum(_disk(old[pid], new[pid]) for pid in kept) - sum(process.disk for process in gone)
    moved = max(
        max(0, through) + sum(process.io for process in born), max(0, disk) + sum(process.disk for process in born)
    )
    most = max([_moved(old[pid], new[pid], seconds) for pid in kept] + [_of_its_life(each) for each in born], default=0)
    faults = sum(max(0, new[pid].faults - old[pid].faults) for pid in kept)
    return Activity(
        seconds=seconds,
        cpu=total / after.hz / seconds,
        by_pid={pid: burnt / after.hz / seconds for pid, burnt in ticks.items()},
        io=moved / seconds,
        busiest=min(moved, most) / seconds,
        net=_net(before, after) / seconds,
        faults=faults / seconds,
        wakeups=sum(_switched(old[pid], new[pid]) for pid in kept) / seconds,
        started=tuple(sorted({process.comm for process in born if _did_something(process)})),
        ended=tuple(sorted({process.comm for process in gone if _did_something(process)})),
        printed=_printed(before, after, seconds),
    )


def _printed(before: FullSample, after: FullSample, seconds: float) -> float | None:
    if before.printed is None or after.printed is None:
        return None
    return max(0, after.printed - before.printed) / seconds


def _did_something(process: ProcessSample) -> bool:
    # Between fork and exec it has its parent's name and has done nothing; a zombie ended before we looked.
    return bool(process.io or process.disk or process.cpu or process.hidden) and process.state not in ("Z", "X")


def _burnt(old: ProcessSample, new: ProcessSample) -> int:
    return max(0, new.cpu - old.cpu)


def _moved(old: ProcessSample, new: ProcessSample, seconds: float) -> int:
    """The bytes that a process has moved. Where only few pages were fetched, what came from the disk is the program
    itself, of which the kernel had given up parts: it ran, and that is all."""
    through, disk = max(0, new.io - old.io), _disk(old, new)
    return through if 0 < new.fetched - old.fetched < FAULT_RATE * seconds else max(through, disk)


def _disk(old: ProcessSample, new: ProcessSample) -> int:
    """The bytes that a process has moved to and from the disk. A JVM touches its counters, a mapped file, also while
    its program does nothing at all: each time that the kernel has written a page of them, the next touch counts."""
    moved = max(0, new.disk - old.disk)
    counters = moved <= JVM_COUNTERS and new.io == old.io and new.runtime == JVM
    return 0 if counters else moved


def _of_its_life(process: ProcessSample) -> int:
    return max(process.io, process.disk)


def _switched(old: ProcessSample, new: ProcessSample) -> int:
    known = {thread.tid: thread.switches for thread in old.threads}
    return sum(max(0, thread.switches - known.get(thread.tid, thread.switches)) for thread in own_threads(new))


def _net(before: FullSample, after: FullSample) -> int:
    """Bytes received and acknowledged. A socket whose two ends are both in the tree counts like any other."""
    moved = 0
    for link, seen in after.sockets.items():
        old = before.sockets.get(link)
        for now, then in (
            (seen.received, old.received if old is not None else 0),
            (seen.sent, old.sent if old is not None else 0),
        ):
            if now is not None:
                moved += max(0, now - (then or 0))
        if old is not None:  # what lay ready, and was read
            moved += max(0, old.unread - seen.unread)
    return moved
