"""How long until a wait ends by itself: as a diagnosis says it when it is made, and as it is shown later.

A diagnosis is recorded once and shown for minutes: "wakes by itself in 4m" must not stay "4m". Its evidence has the
number (`endsInMs`), and the sentence says it in the words of `in_time`, so both can be brought up to date.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.durations import human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELD = "endsInMs"


def in_time(seconds: float) -> str:
    """Return the words of a sentence for the time that is left; to the millisecond, as the evidence has it."""
    return f"in {human(in_ms(seconds) / 1000)}"


def in_ms(seconds: float) -> int:
    """Return the time that is left as the evidence has it."""
    return round(seconds * 1000)


def at_age(diagnosis: dict[str, Any], age: float | None) -> dict[str, Any]:
    """Return a diagnosis so many seconds after it was made. `age` None: it is read at any time, and names no time."""
    evidence = values.mapping(diagnosis.get("evidence")) or {}
    left = values.number(evidence.get(FIELD))
    if left is None:
        return diagnosis
    said, reason = in_time(left / 1000), str(diagnosis.get("reason") or "")
    if age is None:
        return diagnosis | {"reason": reason.replace(f" {said}", "")}
    now = left / 1000 - max(0.0, age)
    words = in_time(now) if now > 0 else f"(due {human(-now)} ago)"
    fresh = evidence | {FIELD: max(0, in_ms(now))}
    return diagnosis | {"reason": reason.replace(said, words), "evidence": fresh}
