"""How long until a wait ends by itself, or since when it lasts: as a diagnosis says it when it is made, and as it is
shown later.

A diagnosis is recorded once and shown for minutes: "wakes by itself in 4m" must not stay "4m", nor "nothing for 1m"
stay "1m". Its evidence has the number (`endsInMs`, `silentMs`), and the sentence says it in the words of `in_time` or
`for_time`, so both can be brought up to date.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.durations import human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELD = "endsInMs"
SILENT = "silentMs"


def in_time(seconds: float) -> str:
    """Return the words of a sentence for the time that is left; to the millisecond, as the evidence has it."""
    return f"in {human(in_ms(seconds) / 1000)}"


def for_time(seconds: float) -> str:
    """Return the words of a sentence for the time that has passed."""
    return f"for {human(in_ms(seconds) / 1000)}"


def in_ms(seconds: float) -> int:
    """Return a time as the evidence has it."""
    return round(seconds * 1000)


def at_age(diagnosis: dict[str, Any], age: float | None) -> dict[str, Any]:
    """Return a diagnosis so many seconds after it was made. `age` None: it is read at any time, and names no time."""
    evidence = values.mapping(diagnosis.get("evidence")) or {}
    left, silent = (values.number(evidence.get(name)) for name in (FIELD, SILENT))
    reason = str(diagnosis.get("reason") or "")
    if left is not None:
        said, now = in_time(left / 1000), left / 1000 - max(0.0, age or 0.0)
        words = in_time(now) if now > 0 else f"(due {human(-now)} ago)"
        fresh = evidence | {FIELD: max(0, in_ms(now))}
    elif silent is not None:
        said, now = for_time(silent / 1000), silent / 1000 + max(0.0, age or 0.0)
        words, fresh = for_time(now), evidence | {SILENT: in_ms(now)}
    else:
        return diagnosis
    if age is None:
        return diagnosis | {"reason": reason.replace(f" {said}", "")}
    return diagnosis | {"reason": reason.replace(said, words), "evidence": fresh}
