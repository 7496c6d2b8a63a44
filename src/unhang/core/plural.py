"""A number and its noun, as people write them: 1 job, 2 jobs."""

from __future__ import annotations


def several(count: int, one: str, many: str = "") -> str:
    """Return the number with the noun that fits it; `many` where an s at the end is not enough."""
    return f"{count} {one if count == 1 else many or one + 's'}"
