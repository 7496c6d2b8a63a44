"""A tree that has not run is now as it was then.

Explaining takes two samples, to see what moved in between, and a full one costs as much as ten cheap looks. Most
quiet trees sleep through, and a cheap look sees that they did: so one sample is enough, be it of now or of long ago.
Whatever could have moved without anybody in the tree running (bytes on their way through a socket, the holder of a
lock outside) makes this an "I do not know", and then two samples are taken as ever.
"""

from __future__ import annotations

from unhang.core.diagnosis.samples import FullSample, Thread

# The kernel's "last ran" is as old as the last tick of its clock, and CPUs disagree by some milliseconds.
SURELY = 1.0


def as_it_was(now: FullSample, since: float) -> FullSample | None:
    """What a full look at the moment `since`, or as soon after as is certain, would have shown; None: not known."""
    if not now.processes or now.others or now.notes:
        return None
    if any(socket.received is not None for socket in now.sockets.values()):
        return None
    asleep = now.at - since
    for process in now.processes.values():
        if process.hidden or len(process.threads) != process.thread_count:
            return None
        for thread in process.threads:
            if thread.asleep is None:  # it runs, or nobody knows
                return None
            asleep = min(asleep, thread.asleep)
    return now._replace(at=now.at - asleep) if asleep >= SURELY else None


def as_it_is(then: FullSample, now: float) -> FullSample:
    """What a full look at `now` would show of a tree that has not run since."""
    seconds = now - then.at
    processes = {
        pid: process._replace(threads=tuple(_later(thread, seconds) for thread in process.threads))
        for pid, process in then.processes.items()
    }
    return then._replace(at=now, processes=processes)


def _later(thread: Thread, seconds: float) -> Thread:
    asleep, remaining = thread.asleep, thread.remaining
    return thread._replace(
        asleep=None if asleep is None else asleep + seconds,
        remaining=None if remaining is None else max(0.0, remaining - seconds),
    )
