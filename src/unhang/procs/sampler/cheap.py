"""The cheap look: did this tree burn CPU, move bytes, start or end anybody since last time?

Three small files for each process (stat, io, status) and one for its children: about 20 us each. It is on
the keeper's start-up path, so it imports nothing that the interpreter has not loaded anyway.
"""

from __future__ import annotations

import os
import time

from unhang.core.samples import CheapProcess, CheapSample
from unhang.procs.sampler.stat import read
from unhang.procs.sampler.tree import walk


def cheap(root: int, *, include_root: bool = False) -> CheapSample:
    """Everything below `root` (normally the keeper itself), as counters that only grow."""
    now = time.monotonic()
    found, capped = walk(root, include_root=include_root)
    processes: dict[int, CheapProcess] = {}
    for pid, (comm, fields) in found.items():
        if fields[0] in (b"Z", b"X") and int(fields[17]) <= 1:
            # Dead, only not waited for yet: what it did is over, and its end must show as an end. (With more
            # threads only the first of them has ended.)
            continue
        processes[pid] = CheapProcess(
            int(fields[19]),
            int(fields[1]),
            comm,
            int(fields[11]) + int(fields[12]),
            int(fields[13]) + int(fields[14]),
            moved(read(f"/proc/{pid}/io", 512)),
            voluntary(read(f"/proc/{pid}/status")),
            int(fields[9]),
        )
    return CheapSample(now, os.sysconf("SC_CLK_TCK"), processes, capped)


def moved(text: bytes) -> int:
    """Bytes through read and write, or to and from the disk, whichever is more.

    recv and send are in neither, mapped files and some io_uring transfers only in the second.
    """
    words = text.split()
    if len(words) < 12:
        return 0
    return max(int(words[1]) + int(words[3]), int(words[9]) + int(words[11]))


def voluntary(status: bytes) -> int:
    """Voluntary context switches from a status file."""
    at = status.rfind(b"\nvoluntary_ctxt_switches:")
    if at < 0:
        return 0
    return int(status[at + 25 :].split(None, 1)[0])
