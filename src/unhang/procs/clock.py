"""The only place that asks what time it is."""

from __future__ import annotations

import time

# Linux's CLOCK_MONOTONIC stands still while the machine is suspended; a hard limit is a promise about real time.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def monotonic() -> float:
    """For deadlines: only goes forward, whatever is done to the wall clock, and goes on while the machine is suspended.

    A sleep does not: who sleeps through a suspension wakes late, and finds more time passed than planned.
    """
    return time.clock_gettime(_CLOCK)


def since_boot() -> float:
    """Seconds since the machine was started, those included that it was suspended; nobody can set it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def wall() -> float:
    """For people to read, and for nothing else."""
    return time.time()


def rfc3339(seconds: float) -> str:
    """UTC with milliseconds: 2026-01-02T03:04:05.678Z"""
    whole = int(seconds)
    t = time.gmtime(whole)
    return (
        f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
        f".{int((seconds - whole) * 1000):03}Z"
    )


def now() -> str:
    """This moment, for an event."""
    return rfc3339(wall())


def parse(text: str) -> float:
    """The reverse of rfc3339."""
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()
