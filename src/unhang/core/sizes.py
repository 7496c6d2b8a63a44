"""Sizes in bytes and rates in bytes a second: as people write them, and as they are shown, in powers of 1024."""

from __future__ import annotations

from unhang.errors import UsageError

_UNITS = ("", "k", "m", "g", "t")
# Longer numbers are no sizes, and would take long to compute with.
_LONGEST_NUMBER, _LONGEST_FRACTION = 15, 6


def read_size(name: str, text: str) -> int:
    """Return the bytes of 500M, 1.5 GiB or 1000; raise UsageError that begins with `name` for anything else."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    number = number.removesuffix(unit).rstrip()
    whole, dot, fraction = number.partition(".")
    if not (_is_number(whole, _LONGEST_NUMBER) and (not dot or _is_number(fraction, _LONGEST_FRACTION))):
        raise UsageError(f"{name}: expected a size such as 500M or 2G, not {text!r}")
    scale: int = 1 << 10 * _UNITS.index(unit)
    return round(float(number) * scale) if dot else int(whole) * scale


def _is_number(digits: str, most: int) -> bool:
    return digits.isascii() and digits.isdigit() and len(digits) <= most


def human_size(count: float) -> str:
    """Return a number of bytes for people: 812 B, 3.4 MiB, 24 GiB."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{_tenths(size)} {unit}"
        size /= 1024
    return f"{_tenths(size)} TiB"


def human_rate(per_second: float) -> str:
    """Return a number of bytes a second for people: 1 B/s at least."""
    return f"{human_size(max(1.0, per_second))}/s"


def _tenths(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
