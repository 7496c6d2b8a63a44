"""Times for people: local, with the date where it is not today's; UTC where that is asked for."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from unhang.core import values
from unhang.core.durations import human, parse
from unhang.errors import UsageError


def add_utc(parser: argparse.ArgumentParser) -> None:
    """Add the option `--utc`."""
    parser.add_argument("--utc", action="store_true", help="show times in UTC instead of local time")


def format_time(moment: float, *, utc: bool, now: float | None = None) -> str:
    """Return a time as text to the second. `now`: leave the date out if both are of the same day."""
    zone = UTC if utc else None
    at = datetime.fromtimestamp(moment, zone)
    same_day = now is not None and datetime.fromtimestamp(now, zone).date() == at.date()
    return at.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S") + ("Z" if utc else "")


def of_event(text: str, *, utc: bool, now: float) -> str:
    """Return the time of an event, to the millisecond; as it is recorded if it is none."""
    at = values.moment(text)
    if at is None:
        return text
    day, _, second = format_time(at, utc=utc, now=now).rpartition(" ")
    second, zone = second.removesuffix("Z"), "Z" if utc else ""
    return f"{day} {second}.{round(at * 1000) % 1000:03}{zone}".lstrip()


def with_age(text: str | None, *, utc: bool, now: float) -> str:
    """Return a recorded time for a person, and how long ago it was; "" if it is none."""
    at = values.moment(text)
    return "" if at is None else f"{format_time(at, utc=utc, now=now)} ({human(max(0.0, now - at))} ago)"


def read_since(text: str, now: float) -> float:
    """Return the time that `--since` names: a duration before now, or an RFC 3339 time. Raise UsageError for others."""
    at = values.moment(text)
    if at is not None and len(text) > 4:  # a year alone would be a duration of seconds
        return at
    try:
        return now - parse(text)
    except ValueError:
        raise UsageError(f"--since: not a duration or a time: {text!r} (as 10m or 2026-01-02T03:04:05Z)") from None
