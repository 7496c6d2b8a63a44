"""May another attempt help, and how long may it take?

A run that was ended while it made progress may need more time; one that waits for a password will wait again. Which
cause is which, `core.diagnosis.causes` says. Each further attempt gets twice the limits, up to the policy's bound.
Three timeouts in a row of the same command open a circuit breaker: after that, time is only burnt (SWE-agent ends a
run at the same number).
"""

from __future__ import annotations

from unhang.core.diagnosis.causes import why_not_again
from unhang.core.limits import TIMEOUT_REASON
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from unhang.core.limits import Limits
    from unhang.core.policy.model import Bounds

FACTOR = 2.0
BREAKER = 3
TIMEOUTS = tuple(TIMEOUT_REASON.values())


class Decision(Record):
    """Whether a job is worth another attempt, and why or why not in a few words."""

    again: bool
    reason: str


def may_help(timeout_reason: str | None, diagnosis: dict[str, Any] | None, needs_input: bool = False) -> Decision:
    """Return whether another attempt may end better than one that ended like this. Only a timeout is ever tried again.

    The keeper's decision and the `retryable` field of a result are both this answer. `diagnosis` has its JSON shape.
    """
    if timeout_reason not in TIMEOUTS:
        return Decision(False, "it did not time out")
    why_not = why_not_again(diagnosis, needs_input)
    return Decision(False, why_not) if why_not else Decision(True, "it may need more time")


def decide(attempt: int, retries: int, worth: Decision) -> Decision:
    """Return whether to start another attempt after number `attempt` (1 is the first) of a job with so many retries.

    `worth` is the answer of `may_help` for that attempt.
    """
    if attempt > retries:
        return Decision(False, "no attempts are left" if retries else "no retries were asked for")
    return worth


def longer(limits: Limits, bounds: Bounds) -> Limits:
    """Return the limits of the next attempt: twice as long, up to the bound. A limit that is off stays off."""
    return limits.replace(
        idle=_double(limits.idle, bounds.idle_max),
        hard=_double(limits.hard, bounds.hard_max),
    )


def _double(value: float | None, most: float | None) -> float | None:
    if value is None:
        return None
    # a limit that was above the bound already is not made shorter by a retry
    return max(value, min(value * FACTOR, most)) if most is not None else value * FACTOR


def breaker(statuses: Sequence[str], now_allowed: int = BREAKER) -> str | None:
    """Return a line for people when a command should not be run again.

    `statuses`: those of its last runs, newest first.
    """
    row = 0
    for status in statuses:
        if status != "timeout":
            break
        row += 1
    if row < now_allowed:
        return None
    return f"circuit breaker: {row} timeouts in a row; change the command or its limits before running it again"
