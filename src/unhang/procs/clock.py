"""The only place that asks what time it is."""

from __future__ import annotations

import time

# Linux's CLOCK_MONOTONIC stands still while the machine is suspended; a hard limit is a promise about real time.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def monotonic() -> float:
    """Return the seconds since the machine was started, those included that it was suspended.

    It is for deadlines: it only goes forward, whatever is done to the wall clock. A sleep does not count suspended
    time, so a process that sleeps through a suspension wakes late and finds more time passed than planned.
    """
    return time.clock_gettime(_CLOCK)


def wall() -> float:
    """Return the time of day, in seconds since 1970: for people to read, and for nothing else."""
    return time.time()


def of_this_thread() -> float:
    """Return the seconds of processor time that this thread has used."""
    return time.thread_time()


def rfc3339(seconds: float) -> str:
    """Return a time of day as UTC with milliseconds, as in 2026-01-02T03:04:05.678Z."""
    whole = int(seconds)
    t = time.gmtime(whole)
    return (
        f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
        f".{int((seconds - whole) * 1000):03}Z"
    )


def now() -> str:
    """Return this moment as text, for an event."""
    return rfc3339(wall())


def parse(text: str) -> float:
    """Return the time of day that `rfc3339` has written."""
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()
