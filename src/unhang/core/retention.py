"""Which ended jobs are let go: by age, by number, by size. A running job is not even offered here.

Ages are counted by the wall clock, which may be set. Set forward by weeks, it would make every record too old. Two
things are known whatever it says: a job of this boot has ended no longer ago than it was started, and within one boot
the clock that counts from the boot says how much time has really passed.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_AGE = 14 * 86400.0
DEFAULT_COUNT = 1000
DEFAULT_BYTES = 2 << 30
# Limits are learnt from it, so it outlives the jobs: a command that is run once a month still has one.
DEFAULT_HISTORY = 90 * 86400.0


class Keep(Record):
    """How much is kept; None is no bound."""

    age: float | None = DEFAULT_AGE
    count: int | None = DEFAULT_COUNT
    bytes: int | None = DEFAULT_BYTES
    history: float | None = DEFAULT_HISTORY  # how old a finished run in the history may be


class EndedJob(Record):
    """A job that has ended, as far as the choice needs to know it."""

    id: str
    ended: float  # wall-clock seconds
    bytes: int
    most: float | None = None  # it is certainly no older than this, in seconds


def choose(jobs: list[EndedJob], keep: Keep, now: float) -> list[str]:
    """Return the ids to let go, oldest first."""
    newest_first = sorted(jobs, key=lambda job: (age(job, now), -job.ended, job.id))
    let_go: list[str] = []
    total = 0
    for place, job in enumerate(newest_first):
        total += job.bytes
        too_old = keep.age is not None and age(job, now) > keep.age
        too_many = keep.count is not None and place >= keep.count
        too_big = keep.bytes is not None and total > keep.bytes
        if too_old or too_many or too_big:
            let_go.append(job.id)
    return let_go[::-1]


def age(job: EndedJob, now: float) -> float:
    """Return how many seconds ago the job ended, by the wall clock, but never more than is possible."""
    seen = now - job.ended
    return seen if job.most is None else min(seen, job.most)


# --- clocks -----------------------------------------------------------------------------------------------------


class ClockReadings(Record):
    """What time it is, by both clocks."""

    wall: float
    since_boot: float
    boot: str  # which boot that is


class Stamp(Record):
    """What the first round of housekeeping in a boot saw: the time of the boot by the wall clock."""

    boot: str
    booted: float


def first_of(clocks: ClockReadings) -> Stamp:
    """Return the stamp that a first round of housekeeping leaves at this moment."""
    return Stamp(clocks.boot, clocks.wall - clocks.since_boot)


def steady(clocks: ClockReadings, stamp: Stamp) -> float:
    """Return the wall clock without what it was set forward since the stamp was made (in the same boot).

    One that was set back counts as it is: everything is younger then, and nothing is let go too early.
    """
    return min(clocks.wall, stamp.booted + clocks.since_boot)


def most_of(clocks: ClockReadings, boot: Any, start: Any, ticks: float, took: float) -> float | None:
    """Return how long ago a job can have ended at most whose keeper was started at `start` (in ticks since its boot)
    and that took so many seconds; None: not known.
    """
    if not isinstance(start, str) or not (start.isascii() and start.isdigit()) or len(start) > 18:
        return None
    if not clocks.boot or boot != clocks.boot:
        return None
    return max(0.0, clocks.since_boot - int(start) / ticks - took)


def to_json(stamp: Stamp) -> dict[str, Any]:
    """Return the stamp as it is written to disk."""
    return {"boot": stamp.boot, "booted": stamp.booted}


def from_json(value: Any) -> Stamp | None:
    """Read a stamp from what was found on disk; None if it is not one."""
    found = values.mapping(value) or {}
    boot, booted = values.text(found.get("boot")), values.number(found.get("booted"))
    return None if not boot or booted is None else Stamp(boot, booted)
