"""Sizes in bytes: as people write them, and as they are shown."""

from __future__ import annotations

from unhang.errors import UsageError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def read_size(name: str, text: str) -> int:
    """Return the bytes of 500M, 2G or 1000; raise UsageError that begins with `name` for anything else."""
    number, unit = text.strip().lower().removesuffix("b").removesuffix("i"), ""
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    if not number.isdecimal():
        raise UsageError(f"{name}: not a size: {text!r} (try 500M or 2G)")
    return int(number) * _UNITS[unit]


def human_size(count: int) -> str:
    """Return a number of bytes for people: 812 B, 3.4 MiB."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
