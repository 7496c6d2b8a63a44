"""What moved between two full looks: the same question as in `progress`, with more to go by.

Here the network counts too (recv() shows in no counter of /proc), and new memory: a process that burns CPU and
touches new pages builds something, one that only burns CPU may be a loop.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang.core.diagnosis.progress import CPU_SHARE, IO_RATE, IO_RATE_OF_A_SLEEP_LOOP, PAUSES
from unhang.core.diagnosis.runtimes import own_threads
from unhang.core.diagnosis.samples import FullSample, ProcessSample

# A keep-alive is some ten bytes every few seconds; a server-sent comment likewise. A modem was 40 times this.
NET_RATE = 100.0
# Ten new pages a second are an allocator's noise; a compiler or a test touches thousands in a second of a core's time.
FAULTS_RATE = 30.0
FAULTS_NOISE = 10.0
# Below this much CPU no process computes; event loops turn over.
BUSY_SHARE = 0.15


class Activity(NamedTuple):
    """Rates between two looks, and the processes that came and went."""

    seconds: float
    cpu: float  # share of one core, all processes together
    by_pid: dict[int, float]
    io: float  # bytes a second
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
        """Return whether more bytes were read and written than housekeeping moves."""
        return self.io >= (IO_RATE_OF_A_SLEEP_LOOP if self.only_pauses else IO_RATE)

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
    grown = sum(max(0, new[pid].io - old[pid].io) for pid in kept)
    moved = max(0, grown - sum(process.io for process in gone)) + sum(process.io for process in born)
    faults = sum(max(0, new[pid].faults - old[pid].faults) for pid in kept)
    return Activity(
        seconds=seconds,
        cpu=total / after.hz / seconds,
        by_pid={pid: burnt / after.hz / seconds for pid, burnt in ticks.items()},
        io=moved / seconds,
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
    return bool(process.io or process.cpu or process.hidden) and process.state not in ("Z", "X")


def _burnt(old: ProcessSample, new: ProcessSample) -> int:
    return max(0, new.cpu - old.cpu)


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
