"""Which ended jobs are let go: by age, by number, by size. A running job is not even offered here."""

from __future__ import annotations

from unhang.core.record import Record

DEFAULT_AGE = 14 * 86400.0
DEFAULT_COUNT = 1000
DEFAULT_BYTES = 2 << 30


class Keep(Record):
    """None: no bound."""

    age: float | None = DEFAULT_AGE
    count: int | None = DEFAULT_COUNT
    bytes: int | None = DEFAULT_BYTES


class Ended(Record):
    id: str
    ended: float  # wall-clock seconds
    bytes: int


def choose(jobs: list[Ended], keep: Keep, now: float) -> list[str]:
    """The ids to let go, oldest first."""
    newest_first = sorted(jobs, key=lambda job: (-job.ended, job.id))
    let_go: list[str] = []
    total = 0
    for place, job in enumerate(newest_first):
        total += job.bytes
        too_old = keep.age is not None and now - job.ended > keep.age
        too_many = keep.count is not None and place >= keep.count
        too_big = keep.bytes is not None and total > keep.bytes
        if too_old or too_many or too_big:
            let_go.append(job.id)
    return let_go[::-1]
