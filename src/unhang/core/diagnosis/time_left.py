"""How long until a wait ends by itself, or since when it lasts: as a diagnosis says it when it is made, and as it is
shown later.

A diagnosis is recorded once and shown for minutes: "wakes by itself in 4m" must not stay "4m", nor "nothing for 1m"
stay "1m". Its evidence has the number (`endsInMs`, `silentMs`), and the sentence says it in the words of `in_time` or
`for_time`, so both can be brought up to date. The silence of a peer (`sinceReceiveMs`) cannot be: only another look
would tell how long it is by now. So its number is left out.
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


def ends_at(diagnosis: dict[str, Any], made: float) -> float | None:
    """Return when the wait that a diagnosis of the time `made` names at its end ends by itself, in seconds since 1970.

    None: no such time is known, or the sentence goes on behind it. With this a surface writes the time behind the
    sentence that names no time (`at_age` with None), and lets it run on its own.
    """
    left = values.number((values.mapping(diagnosis.get("evidence")) or {}).get(FIELD))
    if left is None or not str(diagnosis.get("reason") or "").endswith(in_time(left / 1000)):
        return None
    return made + left / 1000


def words_at(ends: float, now: float) -> str:
    """Return the words for a wait that ends at `ends`, read at `now`."""
    return in_time(ends - now) if ends > now else f"(due {human(now - ends)} ago)"


def quiet_words(received: int | None, since_ms: int | None) -> str:
    """Return the words of a sentence for the silence of a peer, which has sent `received` bytes in all; "": it has sent
    some just now. Less than a second is no silence.
    """
    silence = "" if since_ms is None or since_ms < 1000 else human(since_ms / 1000)
    if received == 0:
        return ", not one byte received" + (f" in {silence}" if silence else "")
    return f", no byte for {silence}" if silence else ""


def at_age(diagnosis: dict[str, Any], age: float | None) -> dict[str, Any]:
    """Return a diagnosis so many seconds after it was made. `age` None: it is read at any time, and names no time."""
    evidence = values.mapping(diagnosis.get("evidence")) or {}
    if age is None or age >= 1:
        diagnosis = _without_silence(diagnosis, values.mapping(evidence.get("socket")) or {})
    left, silent = (values.number(evidence.get(name)) for name in (FIELD, SILENT))
    reason = str(diagnosis.get("reason") or "")
    if left is not None:
        said, now = in_time(left / 1000), left / 1000 - max(0.0, age or 0.0)
        words = words_at(now, 0.0)
        fresh = evidence | {FIELD: max(0, in_ms(now))}
    elif silent is not None:
        said, now = for_time(silent / 1000), silent / 1000 + max(0.0, age or 0.0)
        words, fresh = for_time(now), evidence | {SILENT: in_ms(now)}
    else:
        return diagnosis
    if age is None:
        return diagnosis | {"reason": reason.replace(f" {said}", "")}
    return diagnosis | {"reason": reason.replace(said, words), "evidence": fresh}


def _without_silence(diagnosis: dict[str, Any], peer: dict[str, Any]) -> dict[str, Any]:
    """Leave out for how long a peer had sent nothing: it may have sent something since."""
    received, since = values.whole(peer.get("received")), values.whole(peer.get("sinceReceiveMs"))
    said, lasting = quiet_words(received, since), quiet_words(received, None) or ", and silent"
    if not said or since is None:
        return diagnosis
    return diagnosis | {"reason": str(diagnosis.get("reason") or "").replace(said, lasting)}
