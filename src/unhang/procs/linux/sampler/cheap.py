"""The cheap look: did this tree burn CPU, move bytes, start or end a process since last time?

Two small files for each process (stat, io) and one for its children: about 20 us each. It is on
the keeper's start-up path, so it imports nothing that the interpreter has not loaded anyway.
"""

from __future__ import annotations

import os
import time

from unhang.core.diagnosis.counters import CheapProcess, CheapSample
from unhang.procs.linux.procfs import is_dead, read
from unhang.procs.linux.sampler.tree import walk

# A larger tree is never still for long, and remembering it would cost more than it saves.
MOST_REMEMBERED = 8


def cheap(root: int, *, include_root: bool = False) -> CheapSample:
    """Return everything below `root` (normally the keeper itself), as counters that only grow."""
    return _look(root, include_root)[0]


class TreeSampler:
    """Looks at the same tree again and again, and sees with one small read whether it has run at all.

    A process that has not run has counted nothing and started no other. Its run time in nanoseconds says so
    (`schedstat`, which is of one thread: a tree with threads is looked at as ever).
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._last: CheapSample | None = None
        self._ran: dict[int, bytes] = {}
        self.still_since: float | None = None  # the first of the looks since which no process has run

    def look(self) -> CheapSample:
        """Sample the tree now. If no process has run since the last look, that sample is returned with the new time."""
        now = time.monotonic()
        if self._last is not None and self._ran and all(read(_ran(pid), 64) == ran for pid, ran in self._ran.items()):
            if self.still_since is None:
                self.still_since = self._last.at
            self._last = self._last.replace(at=now)
        else:
            self.still_since = None
            self._last, self._ran = _look(self._root, remember=True)
        return self._last


def _ran(pid: int) -> str:
    return f"/proc/{pid}/schedstat"


def _look(root: int, include_root: bool = False, *, remember: bool = False) -> tuple[CheapSample, dict[int, bytes]]:
    """And how long each has run, where that is worth remembering; before its counters, so that none is missed."""
    now = time.monotonic()
    found, _ = walk(root, include_root=include_root)
    remember = remember and len(found) <= MOST_REMEMBERED and all(int(f[17]) == 1 for _, f in found.values())
    ran = {pid: read(_ran(pid), 64) for pid in found} if remember else {}
    processes: dict[int, CheapProcess] = {}
    for pid, (comm, fields) in found.items():
        if not is_dead(fields):
            processes[pid] = counters_of(comm, fields, *read_io(read(f"/proc/{pid}/io", 512)))
    usable = all(ran.values()) and not any(is_dead(fields) for _, fields in found.values())
    return CheapSample(now, os.sysconf("SC_CLK_TCK"), processes), ran if usable else {}


def counters_of(comm: str, fields: list[bytes], io: int, disk: int) -> CheapProcess:
    """Make the sample of one process from the fields of its `stat` and the bytes that it has moved."""
    return CheapProcess(
        int(fields[19]),
        int(fields[1]),
        comm,
        int(fields[11]) + int(fields[12]),
        int(fields[13]) + int(fields[14]),
        io,
        int(fields[9]),
        disk,
        fields[0] == b"R",
    )


def read_io(text: bytes) -> tuple[int, int]:
    """Return the bytes through read and write, and those to and from the disk, from a file /proc/PID/io."""
    words = text.split()
    if len(words) < 12:
        return 0, 0
    return int(words[1]) + int(words[3]), int(words[9]) + int(words[11])
