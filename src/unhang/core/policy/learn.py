"""Limits from history: how long did this command take, and stay silent, when it ended well?

    auto limit = quantile (p95) of the past × factor (3), not under the floor, not over the ceiling

Jenkins calls this elastic, and learnt the same three lessons: only runs that ended well may teach, a few
runs teach nothing, and the numbers behind a limit must be shown. One more is ours: the one who is limited
must not be the teacher (`teaches`).
"""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.record import Record


class Learn(Record):
    """How "auto" limits follow from history."""

    quantile: float = 0.95
    factor: float = 3.0
    min_runs: int = 10
    floor: float = 10.0
    ceiling: float = 3600.0


class Profile(Record):
    """What the history knows of one command in one directory, at the quantile that `Learn` asked for."""

    runs: int
    duration: float
    silence: float
    quantile: float = 0.95
    median: float = 0.0


def rank(count: int, q: float) -> int:
    """Return where the quantile stands in a sorted list: the smallest value that a fraction q of them does not exceed.

    So it is always one that really happened.
    """
    # rounded before the ceiling: 0.95 × 20 must be 19, whatever binary fractions make of it
    exact = round(q * count, 9)
    whole = int(exact)
    return min(max(whole if exact > whole else whole - 1, 0), count - 1)


def limit(profile: Profile, what: str, learn: Learn | None = None) -> tuple[float, str] | None:
    """Return the learnt limit for "duration" or "silence" and its source; None while there is too little history."""
    learn = learn or Learn()
    if profile.runs < learn.min_runs:
        return None
    seen = profile.duration if what == "duration" else profile.silence
    value = seen * learn.factor
    source = f"history: p{profile.quantile * 100:g} {human(seen)} of {profile.runs} runs ×{learn.factor:g}"
    if value < learn.floor:
        return learn.floor, f"{source}, floor {human(learn.floor)}"
    if value > learn.ceiling:
        return learn.ceiling, f"{source}, ceiling {human(learn.ceiling)}"
    return value, source


def slow_after(profile: Profile, learn: Learn | None = None) -> float | None:
    """Return seconds after which a run is slower than its own history; None while that says too little."""
    learn = learn or Learn()
    if profile.runs < learn.min_runs:
        return None
    # a tenth of a second more than usual is no news
    return max(profile.duration * 1.5, profile.duration + 5.0)


def slow_text(profile: Profile, elapsed: float) -> str:
    """Return the notice that a run takes longer than its history."""
    return (
        f"slower than its history: {human(elapsed)} so far,"
        f" p{profile.quantile * 100:g} {human(profile.duration)} of {profile.runs} runs"
    )


def teaches(status: str, stalled: bool, nested: bool, argued: bool) -> str | None:
    """Return why a finished run must not teach, or None if it may.

    `nested`: started from inside another job, which is the one that the limits are for. `argued`: its caller took more
    time than the policy gives (`Resolution.argued`), so it ran under other rules than those that it would change.
    """
    if status != "success":
        return f"it ended as {status}"
    if stalled:
        return "it stalled on the way"
    if nested:
        return "it was started from inside another job"
    if argued:
        return "its caller took longer limits than the policy gives"
    return None
