"""What a job may take, and where each number came from.

A limit is seconds, or None for "off". `Limits` is what the watchdog obeys; `Sourced` is what the result
shows: the value applied, its source ("argument", "policy:long", "default") and, where a bound changed it,
what was asked for.
"""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# "agent": a driver runs inside the job and says which of its agent's events are progress; bytes are not.
LIVENESS = ("progress", "output", "heartbeat", "agent")
ON_HUNG = ("wait", "end")

# Which limit ended a job, or will: the word for it in results and events.
TIMEOUT_REASON = {"idle": "no_output_timeout", "hard": "exec_timeout"}
LIMIT_OF_REASON = {reason: limit for limit, reason in TIMEOUT_REASON.items()}
# What may stand in the place of the idle limit, by the option that sets it, and its name for people.
BUDGETS = {"startup": "startup", "first": "first response", "tool": "tool", "person": "answer"}

DEFAULT_STALL = 60.0
DEFAULT_IDLE = 300.0
DEFAULT_HARD = 1200.0
DEFAULT_WARN = 30.0
DEFAULT_GRACE = 2.0
# For what writes files that a kill would leave half-written: databases, package managers, agents.
LONG_GRACE = 5.0
# What a person is given at least to answer a question of a job in the background: they have to hear of it first.
ANSWER_WAIT = 300.0
# For a job whose caller is gone.
HASTY_GRACE = 0.5

# After SIGKILL a process is gone in milliseconds unless the kernel holds it (D state) or we may not signal it.
# Longer than this is not slowness: the end is announced with the survivors named, and the killing goes on.
KILL_WAIT = 5.0
# nextest waits 0.1 s for a leaked pipe, Codex 2 s, docker-agent 0.5 s. Re-armed by every byte that still comes.
LEAK_WAIT = 0.5
# ... but a left-over process that never stops talking must not keep a finished job open.
LEAK_MAX = 10.0


class Limits(Record):
    """Seconds; None switches a tier off."""

    stall: float | None = DEFAULT_STALL
    idle: float | None = DEFAULT_IDLE
    hard: float | None = DEFAULT_HARD
    warn: float = DEFAULT_WARN
    grace: float = DEFAULT_GRACE
    kill_wait: float = KILL_WAIT
    leak_wait: float = LEAK_WAIT
    leak_max: float = LEAK_MAX
    liveness: str = "progress"
    on_hung: str = "wait"  # "end": a diagnosis of hung ends the job (after its warning) before the idle limit does


class Sourced(Record):
    """One limit with its origin. `asked` is set only where a bound changed what the caller wanted."""

    value: float | None
    source: str
    asked: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the limit as results show it: `value` and `asked` in milliseconds, `asked` only where a bound changed
        it.
        """
        shown: dict[str, Any] = {"value": None if self.value is None else round(self.value * 1000)}
        shown["source"] = self.source
        if self.asked is not None:
            shown["asked"] = round(self.asked * 1000)
        return shown


def check(limits: Limits) -> str | None:
    """Return the first thing wrong with these numbers, in one line; None when they make sense."""
    for name in ("stall", "idle", "hard", "warn", "grace", "kill_wait", "leak_wait", "leak_max"):
        value = getattr(limits, name)
        if value is None:
            continue
        if value != value or value in (float("inf"), float("-inf")):
            return f"{name} must be a finite number of seconds, or off"
        if value < 0:
            return f"{name} must not be negative: {value:g}"
    for name in ("stall", "idle", "hard"):
        if getattr(limits, name) == 0:
            return f"{name} of 0 would end the job at once; use None or 'off' for no limit"
    if limits.kill_wait == 0:
        return "kill_wait of 0 would give the kernel no time to end anything"
    if limits.on_hung not in ON_HUNG:
        return f"on_hung must be one of {', '.join(ON_HUNG)}: {limits.on_hung!r}"
    if limits.liveness not in LIVENESS:
        return f"liveness must be one of {', '.join(LIVENESS)}: {limits.liveness!r}"
    return None


def named(tier: str, budget: str) -> str:
    """Return the name of a limit for people. `budget`: what stands in the place of the idle limit; empty: nothing."""
    return BUDGETS.get(budget, tier) if tier == "idle" else tier


def lead(limit: float | None, warn: float) -> float:
    """Return how long before a limit its warning comes: `warn`, but never more than half of a short limit."""
    if limit is None:
        return 0.0
    return min(warn, limit / 2)
