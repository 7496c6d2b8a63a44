"""Did this quiet tree move between two looks?

The watchdog asks this under `liveness: progress`: a tree that burns CPU, moves bytes, or starts and ends processes is
quiet, not hung. The question is not "did any counter change" (a JVM that is deadlocked ticks 20 times a second; a
shell that polls starts a `sleep` every second) but "did more happen than housekeeping". Each floor below names what
it is above. Nothing here ever moves the hard limit.
"""

from __future__ import annotations

from unhang.core.diagnosis.counters import CheapProcess, CheapSample
from unhang.core.plain_text import visible

# A deadlocked JVM uses 0.5-1 % of a core for its own threads, an idle node or Electron about 1 %, a Python
# loop that wakes 100 times a second 2-3 %. A compiler, a test, an archiver uses tens of per cent.
CPU_SHARE = 0.05
# Event loops write 8 bytes to wake each other, loggers and heartbeats some 10-100 B/s. The slowest thing worth
# the name of a transfer, a modem, moved 4 kB/s. Averaged over the whole time between two looks.
IO_RATE = 2_000.0
# Starting `sleep` reads 7 kB of headers and locales, and a parent inherits the count when it waits for it: a
# loop around `sleep 0.1` "moves" 70 kB/s without doing anything.
IO_RATE_OF_A_SLEEP_LOOP = 256_000.0
# A page fetched from a mapped file is 4 kB read that no other counter shows. One a second is the pager's noise.
FAULT_RATE = 2.0
NOTHING = "no CPU, no bytes, no new or ended process"
# The programs that a loop starts only to wait.
PAUSES = frozenset({"sleep", "usleep"})


class Progress(tuple[bool, str]):
    """Whether a tree moved (`alive`), and what moved, or that nothing did, for people (`reason`)."""

    __slots__ = ()

    def __new__(cls, alive: bool, reason: str) -> Progress:
        return super().__new__(cls, (alive, reason))

    @property
    def alive(self) -> bool:
        """Return whether the tree did more than housekeeping."""
        return self[0]

    @property
    def reason(self) -> str:
        """Return a phrase for people: what moved, or that nothing did."""
        return self[1]


def progressed(before: CheapSample, after: CheapSample) -> Progress:
    """Return whether the tree did more between two looks than housekeeping."""
    seconds = after.at - before.at
    if seconds <= 0:
        return Progress(False, "no time has passed between the two looks")
    if before.processes is after.processes:  # the sampler knows that no process has run
        return _starved([(seen, seen) for seen in after.processes.values()]) or Progress(False, NOTHING)
    change = _Change(before.processes, after.processes)
    # Caught between fork and exec it has its parent's name and has done nothing: too early to count.
    busy_born = [seen for seen in change.born if seen.io or seen.disk or seen.cpu]
    busy_gone = [seen for seen in change.gone if seen.io or seen.disk or seen.cpu]

    ticks = change.ticks()
    if ticks / after.hz / seconds >= CPU_SHARE:
        return Progress(True, _busiest(change, after.hz, seconds, ticks))

    workers = [seen.comm for seen in busy_born + busy_gone if seen.comm not in PAUSES]
    if workers:
        return Progress(True, _changes(busy_born, busy_gone))

    loops = bool(change.born or change.gone)
    moved = change.bytes()
    if moved / seconds >= (IO_RATE_OF_A_SLEEP_LOOP if loops else IO_RATE):
        from unhang.core.sizes import human_rate  # few jobs need it: it is not for every start

        return Progress(True, f"moves {human_rate(moved / seconds)}")

    faults = sum(max(0, now.faults - then.faults) for then, now in change.kept)
    if faults / seconds >= FAULT_RATE:
        return Progress(True, f"fetches {faults / seconds:.0f} pages/s from mapped files")
    if starved := _starved(change.kept):
        return starved
    if loops:
        return Progress(False, "only starts and ends `sleep`")
    if ticks:
        return Progress(False, f"no more than {_percent(ticks, after.hz, seconds)} of a core, no bytes")
    return Progress(False, NOTHING)


def begun_since(sample: CheapSample, since: float) -> CheapSample:
    """Return the processes of a sample that were started after a moment of the clock of this boot."""
    begun = {pid: seen for pid, seen in sample.processes.items() if seen.start >= since * sample.hz}
    return sample.replace(processes=begun)


def _starved(kept: list[tuple[CheapProcess, CheapProcess]]) -> Progress | None:
    """A machine that is busy with others gives a computation less than the share that tells it from housekeeping."""
    names = [now.comm for then, now in kept if then.ready and now.ready]
    if not names:
        return None
    return Progress(True, f"{visible(min(names))} is ready to run, and waits for its turn on a busy machine")


class _Change:
    """The processes of two looks: those seen in both (`kept`: then, now), those that came and those that went."""

    def __init__(self, old: dict[int, CheapProcess], new: dict[int, CheapProcess]) -> None:
        same = [pid for pid, seen in new.items() if pid in old and old[pid].start == seen.start]
        self.count = len(new)
        self.kept = [(old[pid], new[pid]) for pid in same]
        self.born = [seen for pid, seen in new.items() if pid not in old or old[pid].start != seen.start]
        self.gone = [seen for pid, seen in old.items() if pid not in new or new[pid].start != seen.start]

    def ticks(self) -> int:
        """CPU burnt in between, including by children that came and went unseen.

        A parent takes over the whole life's CPU of a child it waits for; what such a child had burnt before the
        first look is taken off again.
        """
        own = sum(max(0, now.cpu - then.cpu) for then, now in self.kept)
        own += sum(seen.cpu + seen.reaped for seen in self.born)
        taken_over = sum(max(0, now.reaped - then.reaped) for then, now in self.kept)
        known = sum(seen.cpu + seen.reaped for seen in self.gone)
        return own + max(0, taken_over - known)

    def bytes(self) -> int:
        """Return bytes moved in between; the kernel folds a waited-for child's count into its parent's as with CPU.

        recv and send are in neither count, mapped files and some io_uring transfers only in the disk's, pipes only in
        the other. Each is compared with itself: a program that was fetched from the disk at its start has moved many
        bytes there, and the first ones that it reads must not vanish behind them.
        """
        through = sum(max(0, now.io - then.io) for then, now in self.kept) - sum(seen.io for seen in self.gone)
        disk = sum(max(0, now.disk - then.disk) for then, now in self.kept) - sum(seen.disk for seen in self.gone)
        through, disk = max(0, through), max(0, disk)
        return max(through + sum(seen.io for seen in self.born), disk + sum(seen.disk for seen in self.born))


def _busiest(change: _Change, hz: int, seconds: float, ticks: int) -> str:
    shares = [(now.cpu - then.cpu, now.comm) for then, now in change.kept]
    shares += [(seen.cpu, seen.comm) for seen in change.born]
    most, comm = max(shares, default=(0, ""))
    if most * 2 < ticks:
        return f"{change.count} processes use {_percent(ticks, hz, seconds)} of a core"
    others = f"1 of {change.count} processes, " if change.count > 1 else ""
    return f"{others}{visible(comm)} uses {_percent(most, hz, seconds)} of a core"


def _percent(ticks: int, hz: int, seconds: float) -> str:
    return f"{100 * ticks / hz / seconds:.0f} %"


def _changes(born: list[CheapProcess], gone: list[CheapProcess]) -> str:
    parts = []
    for verb, seen in (("started", born), ("ended", gone)):
        names = sorted({visible(process.comm) for process in seen})
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            parts.append(f"{verb} {', '.join(names[:3])}{more}")
    return " and ".join(parts)
