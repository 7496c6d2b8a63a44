"""How a job ended: a closed set of ways, each with its status, its words and its exit code.

completed   the leader exited with 0
failed      it exited with another code, died of a signal, or could not be started
timed_out   the idle or the hard limit ended it
cancelled   a caller asked for its end, or the caller exited
lost        its keeper was killed; what was left of the tree has been ended
"""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.events import (
    EAGENT,
    ECANCELED,
    EIDLE,
    ELOST,
    ERROR_KINDS,
    ESPAWN,
    ETIMEDOUT,
    budget,
    error_code,
    ms,
)
from unhang.core.limits import TIMEOUT_REASON, named
from unhang.core.plain_text import quoted
from unhang.core.plural import several
from unhang.core.record import Record
from unhang.core.watchdog import actions as act
from unhang.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_SIGNAL_BASE, EXIT_TIMEOUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATUS = {
    "completed": "success",
    "failed": "error",
    "timed_out": "timeout",
    "cancelled": "cancelled",
    "lost": "error",
}
CALLER_DIED = "the death of its caller"  # `cancelledBy` of a job whose caller is gone
SOFT, HARD = "soft", "hard"

# number → name, without importing `signal` (the core knows no system); Linux's numbers for the common ones,
# which are the POSIX ones where a job's end is concerned.
SIGNAL_NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}
# What the signals mean that end a program without being asked for.
_MEANING = {
    4: "illegal instruction",
    6: "aborted",
    7: "bus error",
    8: "arithmetic error",
    9: "killed",
    11: "segmentation fault",
    13: "broken pipe",
    24: "CPU time limit",
    25: "file size limit",
}
_NUMBERS = {name: number for number, name in SIGNAL_NAMES.items()}


def signal_name(number: int) -> str:
    """Return the name of a signal, as SIGTERM; SIG<number> for one without a name."""
    return SIGNAL_NAMES.get(number, f"SIG{number}")


class Facts(Record):
    """What the keeper knows when a job has ended."""

    ending: str  # "exited", or the reason: "idle", "hard", "cancelled"
    exit_code: int | None
    signal: int | None
    leaked: bool
    abandoned: bool
    mode: str | None  # "soft" or "hard" once anything was signalled
    duration: float
    silence: float
    longest_silence: float
    pid: int
    cancelled_by: str
    idle_limit: float | None
    hard_limit: float | None
    leftovers: list[dict[str, Any]]
    survivors: list[dict[str, Any]]
    unseen: str = ""  # why there may be more of these two than could be listed
    interrupted: bool = False  # SIGINT is the only signal that was sent
    reached: float | None = None  # the run time when a limit was reached; what came after is the ending
    budget: str = ""  # what stood in the place of the idle limit (`core.limits.BUDGETS`), whose length is `idle_limit`
    out_of_memory: bool = False  # the kernel has ended processes for want of memory while it ran


class Ended(Record):
    """The last event's phase, message and fields."""

    phase: str
    message: str
    fields: dict[str, Any]


def ended(facts: Facts) -> Ended:
    """Build the last event of a job whose leader was started, from the facts of its ending."""
    phase = _phase(facts)
    timed_out = phase == "timed_out"
    killed = facts.mode is not None and (timed_out or phase == "cancelled")
    fields: dict[str, Any] = {
        "status": STATUS[phase],
        "exitCode": facts.exit_code,
        "signal": None if facts.signal is None else signal_name(facts.signal),
        "timeoutReason": TIMEOUT_REASON.get(facts.ending),
        "terminationMode": facts.mode if killed else None,
        "durationMs": ms(facts.duration),
        "idleMs": ms(facts.silence),
        "longestSilenceMs": ms(facts.longest_silence),
        "leaked": facts.leaked,
    }
    message = _message(phase, facts)
    if timed_out and facts.ending == act.IDLE and facts.budget:
        fields["budget"] = budget(facts.budget, facts.idle_limit)
    if phase == "cancelled":
        fields["cancelledBy"] = facts.cancelled_by
    if facts.leftovers:
        fields["leftovers"] = facts.leftovers
    if phase in ("timed_out", "cancelled"):
        fields["error"] = _error(phase, message, facts, killed)
    return Ended(phase, message, fields)


def of_attempt(number: int, end: Ended) -> dict[str, Any]:
    """Return how one of several attempts ended, as the last event of the job tells it."""
    kept = {name: end.fields.get(name) for name in ("status", "exitCode", "timeoutReason", "durationMs")}
    return {"attempt": number, "message": end.message} | kept


def attempts_of(last: dict[str, Any]) -> list[dict[str, Any]]:
    """Return how each attempt of a job ended, from its last event; empty if there was only one."""
    count, earlier = last.get("attempts") or 1, list(last.get("earlier") or [])
    if count < 2:
        return []
    return [*earlier, of_attempt(count, Ended("", str(last.get("message", "")), last))]


def _phase(facts: Facts) -> str:
    if facts.ending in TIMEOUT_REASON:
        return "timed_out"
    if facts.ending == act.CANCELLED:
        return "cancelled"
    return "completed" if facts.exit_code == 0 else "failed"


def _how(facts: Facts) -> str:
    if facts.abandoned and facts.unseen:
        return f"not everything ended on SIGKILL, and what is left cannot be listed: {facts.unseen}"
    if facts.abandoned:
        return f"{several(len(facts.survivors), 'process', 'processes')} outlived SIGKILL"
    if facts.mode == HARD:
        return "SIGKILL was needed"
    return "SIGINT was enough" if facts.interrupted else "SIGTERM was enough"


def _message(phase: str, facts: Facts) -> str:
    took = human(facts.duration)
    if phase == "timed_out" and facts.ending == act.IDLE:
        limit = f"{named(act.IDLE, facts.budget)} limit {human(facts.idle_limit or 0)}"
        return f"no sign of life for {human(facts.silence)} ({limit}); {_how(facts)}"
    if phase == "timed_out":
        reached = took if facts.reached is None else human(facts.reached)
        return f"still running after {reached} (hard limit {human(facts.hard_limit or 0)}); {_how(facts)}"
    if phase == "cancelled":
        return f"cancelled by {_who(facts.cancelled_by)} after {took}{_left_running(facts) or f'; {_how(facts)}'}"
    text = "exited with 0" if phase == "completed" else f"exited with {facts.exit_code}{_of_a_child(facts)}"
    if facts.signal is not None:
        text = f"ended by {signal_name(facts.signal)}{_meaning(facts.signal, facts.out_of_memory)}"
    return f"{text} after {took}{_left_running(facts)}"


def _left_running(facts: Facts) -> str:
    """What a leader that has ended left behind; empty: nothing."""
    if not facts.leaked:
        return ""
    names = ", ".join(quoted(str(p.get("command", "?")), 60) for p in facts.leftovers[:3])
    if names:
        return f"; left running and {'not ended by SIGKILL' if facts.abandoned else 'ended'}: {names}"
    if facts.unseen:
        return f"; what it left running cannot be listed: {facts.unseen}"
    return "; its output is held open by another process"


def _meaning(number: int, out_of_memory: bool) -> str:
    meaning = "out of memory: the kernel ended a process meanwhile" if number == 9 and out_of_memory else ""
    meaning = meaning or _MEANING.get(number, "")
    return f" ({meaning})" if meaning else ""


def _of_a_child(facts: Facts) -> str:
    """A shell, make and others pass the signal of a child on as 128 and its number."""
    number = (facts.exit_code or 0) - EXIT_SIGNAL_BASE
    return f", as after {signal_name(number)}{_meaning(number, facts.out_of_memory)}" if number in _MEANING else ""


def _who(by: str) -> str:
    """Who asked for the end, as the request says; also a process of the job's own can ask, in its own words."""
    plain = len(by) <= 40 and by.isascii() and all(c.isalpha() or c in " ," for c in by)
    return by if plain else quoted(by, 40)


def _error(phase: str, message: str, facts: Facts, killed: bool) -> dict[str, Any]:
    code = ECANCELED
    if phase == "timed_out":
        code = EIDLE if facts.ending == act.IDLE else ETIMEDOUT
    soft = "SIGINT" if facts.interrupted else "SIGTERM"
    signal = ("SIGKILL" if facts.mode == HARD else soft) if killed else None
    unseen = {"unseen": facts.unseen} if facts.abandoned and facts.unseen else {}
    return {
        "code": code,
        "kind": ERROR_KINDS[code],
        "message": message,
        "idleMs": ms(facts.silence),
        "wallClockMs": ms(facts.duration),
        "pid": facts.pid,
        "killed": killed,
        "signal": signal,
        "survivors": facts.survivors,
    } | unseen


def spawn_failed(message: str, exit_code: int) -> Ended:
    """Build the last event of a job whose command could not be started."""
    error = {
        "code": ESPAWN,
        "kind": ERROR_KINDS[ESPAWN],
        "message": message,
        "killed": False,
        "signal": None,
        "survivors": [],
    }
    fields = {"status": "error", "exitCode": exit_code, "signal": None, "durationMs": 0, "error": error}
    return Ended("failed", message, fields | {"timeoutReason": None, "terminationMode": None, "leaked": False})


def agent_failed(end: Ended, agent: str, job_id: str, why: str, last_words: str) -> Ended:
    """Say in the last event of an agent's job which agent failed, why, and what it said last to people."""
    if end.phase != "failed" or end.fields.get("error") is not None:
        return end
    text = f"{agent} failed (job {job_id}): {why or end.message}"
    if last_words and last_words not in text:
        text += f"; its last words on stderr: {last_words}"
    error = {"code": EAGENT, "kind": ERROR_KINDS[EAGENT], "message": text, "killed": False}
    error |= {"signal": end.fields.get("signal"), "survivors": []}
    return end.replace(fields=end.fields | {"error": error})


def lost(message: str, duration: float | None, pid: int | None, ended_pids: list[int], survivors: list[int]) -> Ended:
    """Build the last event of a job whose keeper was killed; `duration` is None where it is not known."""
    error = {
        "code": ELOST,
        "kind": ERROR_KINDS[ELOST],
        "message": message,
        "pid": pid,
        "killed": bool(ended_pids),
        "signal": "SIGKILL" if ended_pids else None,
        "survivors": [{"pid": p} for p in survivors],
    }
    fields: dict[str, Any] = {"status": "error", "exitCode": None, "signal": None, "timeoutReason": None}
    fields |= {"terminationMode": None, "leaked": False, "endedPids": ended_pids[:100], "error": error}
    fields["durationMs"] = None if duration is None else ms(duration)
    return Ended("lost", message, fields)


def exit_code(fields: dict[str, Any]) -> int:
    """Return the exit code of `unhang run`, from the fields of the last event.

    It is the same as that of coreutils' timeout.
    """
    status = fields.get("status")
    if status == "timeout":
        return EXIT_TIMEOUT
    if status == "cancelled":
        number = _NUMBERS.get(str(fields.get("cancelledBy")))
        return EXIT_INTERRUPTED if number is None else EXIT_SIGNAL_BASE + number
    if error_code(fields) == ELOST:
        return EXIT_FAILED
    if fields.get("exitCode") is not None:
        return int(fields["exitCode"])
    name = str(fields.get("signal") or "")
    if name in _NUMBERS:
        return EXIT_SIGNAL_BASE + _NUMBERS[name]
    if name.startswith("SIG") and name[3:] in map(str, range(1, 65)):  # one that has no name here
        return EXIT_SIGNAL_BASE + int(name[3:])
    return EXIT_FAILED
