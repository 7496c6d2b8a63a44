"""May another attempt help, and how long may it take?

A run that was killed while it made progress may need more time; one that waits for a password will wait
again. Each further attempt gets twice the limits, up to the policy's bound. Three timeouts in a row of the
same command open a circuit breaker: after that, time is only burnt (SWE-agent ends a run at the same
number).
"""

from __future__ import annotations

from collections.abc import Sequence

from unhang.core.limits import Limits
from unhang.core.policy.model import Bounds
from unhang.core.record import Record

FACTOR = 2.0
BREAKER = 3

# By the diagnosis' cause. What is not here (network, progress, busy, timer, poll, unknown …) may pass by
# itself.
_HOPELESS = {
    "input": "it waits for input, and would again",
    "lock": "the lock that it waits for is still held",
    "deadlock": "its processes wait for each other",
    "pipe_cycle": "its processes wait for each other's pipes",
    "stopped": "it was stopped by a signal",
    "listening": "it is a server, which does not end",
    "leak": "it had ended; what it left behind kept the pipe open",
}


class Decision(Record):
    again: bool
    reason: str


def may_help(timeout_reason: str | None, cause: str | None, needs_input: bool = False) -> Decision:
    """`timeout_reason` and `cause` are those of the result; only a timeout is ever tried again."""
    if timeout_reason not in ("no_output_timeout", "exec_timeout"):
        return Decision(False, "it did not time out")
    if needs_input:
        return Decision(False, _HOPELESS["input"])
    if cause in _HOPELESS:
        return Decision(False, _HOPELESS[cause])
    return Decision(True, "it may need more time")


def decide(
    attempt: int, retries: int, timeout_reason: str | None, cause: str | None, needs_input: bool = False
) -> Decision:
    """After attempt number `attempt` (1 is the first) of a job with so many retries."""
    if attempt > retries:
        return Decision(False, "no attempts are left" if retries else "no retries were asked for")
    return may_help(timeout_reason, cause, needs_input)


def longer(limits: Limits, bounds: Bounds) -> Limits:
    """The limits of the next attempt: twice as long, up to the bound; what is off stays off."""
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
    """`statuses`: its last runs, newest first. A line for people when it should not be run again."""
    row = 0
    for status in statuses:
        if status != "timeout":
            break
        row += 1
    if row < now_allowed:
        return None
    return f"circuit breaker: {row} timeouts in a row; change the command or its limits before running it again"
