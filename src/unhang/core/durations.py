"""Durations as people write them, both ways: "1h30m" → 5400.0 and 5400.0 → "1h 30m".

A bare number is seconds. Parsing is written by hand because a regular expression accepts too much
("5 m 5", "1e9") or explains too little; and this runs at every start of the program.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DIGITS = frozenset("0123456789.")
OFF_WORDS = frozenset({"0", "off", "none", "never"})

# A century: past it a number is a mistake (milliseconds taken for seconds), not a limit.
LONGEST = 100 * 365 * 86400.0


def parse(text: str) -> float:
    """Return the seconds of a text. Raise ValueError with one line that names the text and shows what would do."""
    bad = ValueError(f"not a duration: {text!r} (try 90, 90s, 5m, 1h30m, 500ms or 0.5)")
    rest = text.strip().lower()
    if not rest:
        raise bad
    total = 0.0
    last_unit = float("inf")
    bare = False
    while rest:
        n = 0
        while n < len(rest) and rest[n] in _DIGITS:
            n += 1
        number, rest = rest[:n], rest[n:]
        if not number.isascii() or number.count(".") > 1 or not any(c != "." for c in number):
            raise bad
        u = 0
        while u < len(rest) and rest[u].isalpha():
            u += 1
        unit, rest = rest[:u], rest[u:].lstrip()
        if not unit:
            # only a number that stands alone may go without a unit: "5m30" is a typing error as often as not
            if total or bare or rest or last_unit != float("inf"):
                raise bad
            bare, scale = True, 1.0
        elif unit in _UNITS:
            scale = _UNITS[unit]
        else:
            raise bad
        if scale >= last_unit:
            raise bad
        last_unit = scale
        total += float(number) * scale
    if total > LONGEST:
        raise ValueError(f"{text!r} is longer than a century; use 'off' for no limit")
    return total


def seconds_of(name: str, value: Any) -> float:
    """Return a duration in seconds that was given as a number, a text or a timedelta.

    Raise ValueError with one line that begins with `name`, which is what the caller calls it.
    """
    if isinstance(value, str):
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if hasattr(value, "total_seconds"):  # a timedelta: importing datetime to ask would cost start-up time
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: not a duration: {value!r:.80} (try 90, 90s, 5m, 1h30m, 500ms or 0.5)")
    return usable(name, value)


def usable(name: str, seconds: float) -> float:
    """Return a number of seconds that came from outside, of whatever size.

    Raise ValueError in one line, without the number: it may have ten thousand digits.
    """
    if not 0 <= seconds <= LONGEST:  # false for NaN, and exact for an int that is too large for a float
        raise ValueError(f"{name} must be between 0 and a century ({LONGEST:.0f} s)")
    return float(seconds)


def usable_ms(name: str, milliseconds: int) -> float:
    """Return milliseconds as seconds, as `usable` does. A huge int cannot be divided, so it is compared first."""
    if not 0 <= milliseconds <= LONGEST * 1000:
        raise ValueError(f"{name} must be between 0 and a century ({LONGEST * 1000:.0f} ms)")
    return milliseconds / 1000


def human(seconds: float) -> str:
    """Return a duration for people: 0.4 → "0.4s", 41 → "41s", 270 → "4m 30s", 5400 → "1h 30m"."""
    if seconds < 0:
        return "-" + human(-seconds)
    if seconds < 9.95:
        text = f"{seconds:.1f}"
        return (text[:-2] if text.endswith(".0") else text) + "s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, secs = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {secs}s" if secs else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h {minutes}m" if minutes else f"{hours}h"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h" if hours else f"{days}d"


def human_ms(milliseconds: float | None) -> str:
    """Return milliseconds for people; a duration that was never recorded (of a lost job) is "unknown", not 0."""
    return "unknown" if milliseconds is None else human(milliseconds / 1000)
