"""Every event that a job can have, and its form on disk: one JSON object a line, at most 4 KiB.

Every event has `seq` (1, 2, 3 … without a gap), `ts`, `type`, `phase` and `message` (one line for people); the
first one also says the format version (`v`). The functions here make the rest; the log adds `seq` and `ts` when it
writes. Field names are camelCase: this is a wire format. Durations are milliseconds.

Types and phases are closed: `PHASES` lists them, and an event with another phase, or a watchdog event with a field
that its phase does not have, is refused where it is made (`InvalidEvent`). Reading is tolerant, because a log may be
newer than its reader. Who is shown which phase is in `notices.py`; what a phase means for the job is in `view.py`.

A line that would be too long loses its `raw`, then everything but its head (`oversize-event-elided`): a reader can
rely on the bound, and a single write of such a line is not torn by other readers.
"""

from __future__ import annotations

from unhang.core import values
from unhang.core.plural import several

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Event = dict[str, Any]

FORMAT = 1
MAX_LINE = 4096

STARTED, OUTPUT, HEARTBEAT, WATCHDOG, AGENT, SIGNAL, EXITED = (
    "job/started",
    "output",
    "heartbeat",
    "watchdog",
    "agent",
    "signal",
    "job/exited",
)
ELIDED = "oversize-event-elided"
# About the recording itself: events that could not be stored, a torn line that was cut off.
STORE = "store"
TYPES = (STARTED, OUTPUT, HEARTBEAT, WATCHDOG, AGENT, SIGNAL, STORE, EXITED, ELIDED)

# Where the id of a tool call stands in an agent's event: Claude's, Codex's, ACP's.
_CALL_IDS = ("toolUseId", "itemId", "toolCallId")

# How a job can end: the phase of its last event, and the status that follows from it.
ENDINGS = ("completed", "failed", "timed_out", "cancelled", "lost")
STATUSES = ("success", "error", "timeout", "cancelled")
# What can go wrong with a job: the code of the error in its last event, and the kind of each.
EIDLE, ETIMEDOUT, ECANCELED, ESPAWN, EAGENT, ELOST = "EIDLE", "ETIMEDOUT", "ECANCELED", "ESPAWN", "EAGENT", "ELOST"
ERROR_KINDS = {
    EIDLE: "inactivity",
    ETIMEDOUT: "deadline",
    ECANCELED: "cancelled",
    ESPAWN: "spawn",
    EAGENT: "agent",
    ELOST: "lost",
}


class InvalidEvent(ValueError):
    """An event with a phase or a field that this version of unhang does not define."""


def check_phase(kind: str, phase: str, phases: Mapping[str, tuple[str, ...]] | None = None) -> None:
    """Raise InvalidEvent unless events of this type can have this phase. `phases`: of another stream than a job's."""
    known = (PHASES if phases is None else phases)[kind]
    if phase not in known:
        raise InvalidEvent(f"{kind} events have no phase {phase!r}; there are: {', '.join(known)}")


def ms(seconds: float) -> int:
    """Return seconds as whole milliseconds, the unit of every duration in an event."""
    return round(seconds * 1000)


def budget(name: str, limit: float | None) -> dict[str, Any]:
    """Return what stood in the place of the idle limit, as the notice of a limit has it, and its length in seconds."""
    return {"name": name, "limitMs": None if limit is None else ms(limit)}


def started(pid: int, command: str, limits: dict[str, Any], agent: dict[str, Any] | None = None) -> Event:
    """Make the event of a process that has been started for the job. `agent`: see `spec.agent_summary`."""
    event: Event = {
        "type": STARTED,
        "phase": "running",
        "message": f"started: {command[:200]}",
        "pid": pid,
        "limits": limits,
    }
    return event if agent is None else event | {"agent": agent}


def output(stream: str, count: int, offset: int, *, alive: bool = True) -> Event:
    """Make the event of `count` bytes of output; the first is byte `offset` of all that the stream has printed.

    `alive` False: it is known to be no progress.
    """
    made = {
        "type": OUTPUT,
        "phase": "running",
        "message": f"{several(count, 'byte')} on {stream}",
        "stream": stream,
        "bytes": count,
        "offset": offset,
    }
    return made if alive else made | {"alive": False}


def heartbeat(status: str) -> Event:
    """Make the event of a heartbeat, with the status that the job gave of itself."""
    return {"type": HEARTBEAT, "phase": "running", "message": status or "alive", "status": status}


def watchdog(phase: str, message: str, **fields: Any) -> Event:
    """Make a watchdog event. Fields that are None are left out; fields that the phase does not have are refused."""
    check_phase(WATCHDOG, phase)
    unknown = fields.keys() - WATCHDOG_FIELDS[phase].keys()
    if unknown:
        raise InvalidEvent(f"watchdog events of phase {phase!r} have no field {', '.join(sorted(unknown))}")
    return {"type": WATCHDOG, "phase": phase, "message": message} | _given(fields)


def agent(phase: str, message: str, *, alive: bool = True) -> Event:
    """Make the head of an agent's event; the driver of the agent adds fields of its own.

    `alive`: whether it is a sign of life; a notice about the agent, or what only repeats itself, is none.
    """
    check_phase(AGENT, phase)
    return {"type": AGENT, "phase": phase, "message": message, "alive": alive}


def signal(step: str, name: str, pids: list[int], reason: str, message: str) -> Event:
    """Make the event of a signal that was sent to processes of the job."""
    return {
        "type": SIGNAL,
        "phase": "stopping",
        "message": message,
        "step": step,
        "signal": name,
        "pids": pids[:100],
        "count": len(pids),
        "reason": reason,
    }


def store(message: str, **fields: Any) -> Event:
    """Make an event about the recording itself."""
    return {"type": STORE, "phase": "warning", "message": message} | _given(fields)


def exited(phase: str, message: str, fields: dict[str, Any]) -> Event:
    """Make the last event of a job; its phase is one of `ENDINGS`."""
    check_phase(EXITED, phase)
    return {"type": EXITED, "phase": phase, "message": message} | fields


def call_of(event: Event) -> str | None:
    """Return which tool call of an agent an event is about, whatever the agent's protocol calls that; None: of none."""
    return next((found for name in _CALL_IDS if isinstance(found := event.get(name), str) and found), None)


def error_code(last: Mapping[str, Any]) -> str | None:
    """Return the code of the error with which a job ended; None: there is none."""
    code: str | None = (last.get("error") or {}).get("code")
    return code


def is_promise(event: Event) -> bool:
    """Return whether an event must survive a power cut once a reader knows of it.

    It must if it says what was done to the job, or what is about to be done to it.
    """
    return event.get("type") in (WATCHDOG, SIGNAL, EXITED)


def goes_on_by_itself(event: Event) -> bool:
    """Return whether a stall was explained by something that passes by itself: a timer that runs, a server that
    listens.

    Such a job is silent, and needs no person: in lists it is quiet, and no alert is sent.
    """
    stall = event.get("type") == WATCHDOG and event.get("phase") == "stuck"
    return stall and (event.get("diagnosis") or {}).get("state") == "alive"


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _dump(event: Event) -> bytes:
    return values.dump(event, compact=True).encode() + b"\n"


def to_line(event: Event) -> bytes:
    """Return the event as one line of the log, at most MAX_LINE bytes long."""
    line = _dump(event)
    if len(line) <= MAX_LINE:
        return line
    if event.get("raw") is not None:
        raw = str(event["raw"])
        while raw and len(line) > MAX_LINE:  # by trial: a character may be one byte or, escaped, six
            raw = raw[: min(len(raw) // 2, MAX_LINE)]
            line = _dump(event | {"raw": raw or None, "rawCut": True})
        if len(line) <= MAX_LINE:
            return line
    head: Event = {name: event[name] for name in ("seq", "ts", "v", "type", "phase", "method") if name in event}
    head |= {"elided": head.get("type"), "type": ELIDED, "bytes": len(line)}
    if head["elided"] == EXITED:
        # the end of a job is never elided: its long texts and lists are cut instead
        return _dump(_shortened(event))
    return _dump(head | {"message": str(event.get("message", ""))[:200]})


def _shortened(event: Event) -> Event:
    """Return the event with its lists and texts cut until it fits into one line."""
    size = 2000
    while True:
        short = {name: _cut(value, size) for name, value in event.items()}
        if len(_dump(short)) <= MAX_LINE or size < 8:
            return short
        size //= 2


def _cut(value: Any, size: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= size else value[: size - 1] + "…"
    if isinstance(value, list):
        return [_cut(v, size) for v in value[: max(1, size // 100)]]
    if isinstance(value, dict):
        return {k: _cut(v, size) for k, v in value.items()}
    return value


# --- reading: the types that the rest of the code relies on -----------------------------------------------------

_PROCESS = values.object_of(
    {
        "pid": values.pid,
        "ppid": values.pid,
        "comm": values.text,
        "cmd": values.text,
        "command": values.text,
        "state": values.text,
        "waits": values.text,
        "cpuPercent": values.number,
        "sinceMs": values.number,
    }
)
_PROCESSES = values.each_of(_PROCESS)
_DIAGNOSIS = values.object_of(
    {
        "state": values.text,
        "cause": values.text,
        "reason": values.text,
        "evidence": values.mapping,
        "processes": _PROCESSES,
    }
)
_ERROR = values.object_of(
    {
        "code": values.text,
        "kind": values.text,
        "message": values.text,
        "idleMs": values.number,
        "wallClockMs": values.number,
        "pid": values.pid,
        "killed": values.flag,
        "signal": values.text,
        "survivors": _PROCESSES,
    }
)
# `limits` of a job: idleMs, hardMs … → its value (null: off), where that came from, and what was asked for
LIMITS = values.table_of(
    values.object_of({"value": values.number, "source": values.text, "asked": values.number}),
)

# What stands in the place of the idle limit: a budget of an agent, or the time for an answer.
_BUDGET = values.object_of({"name": values.text, "limitMs": values.number})


def _moved(value: Any) -> dict[str, Any] | None:
    """Read `limits` of a watchdog event: the limits that have changed, and their values now (null: off)."""
    if not isinstance(value, dict):
        return None
    return {name: limit for name, limit in value.items() if limit is None or values.number(limit) is not None}


# What a watchdog event of each phase carries besides a diagnosis.
_OWN_FIELDS: dict[str, dict[str, values.Reading]] = {
    "stuck": {"stallMs": values.number, "since": values.text},
    "needs_input": {
        "prompt": values.text,
        "password": values.flag,
        "waitingPid": values.pid,
        "since": values.text,
        "tier": values.text,
        "willAbortInMs": values.number,
    },
    "quiet": {"stallMs": values.number, "since": values.text},
    "warning": {
        "idleMs": values.number,
        "wallClockMs": values.number,
        "willAbortInMs": values.number,
        "reason": values.text,
        "since": values.text,
        "budget": _BUDGET,
    },
    "extended": {
        "tier": values.text,
        "willAbortInMs": values.number,
        "reason": values.text,
        "asked": values.flag,
        "limits": _moved,
    },
    "resumed": {"idleMs": values.number, "asked": values.flag},
    "timeout": {
        "idleMs": values.number,
        "wallClockMs": values.number,
        "reason": values.text,
        "since": values.text,
        "budget": _BUDGET,
    },
    "slow": {"runs": values.whole, "usualMs": values.number},
    "retry": {"attempt": values.whole, "limits": _moved},
    "interrupted": {},
    "paused": {"signal": values.text},
    "continued": {"pausedMs": values.number},
}
WATCHDOG_FIELDS = {phase: {"diagnosis": _DIAGNOSIS} | fields for phase, fields in _OWN_FIELDS.items()}
# What a phase of an agent says of it. All that is asked of a phase anywhere (does it work, is its turn over?) is one of
# these, so a new phase has no second place where it could be forgotten.
BEGINS, THINKS, WORKS, RESTS, ASKS, STALLS, STOPS, ENDS, REMARKS = (
    "begins",
    "thinks",
    "works",
    "rests",
    "asks",
    "stalls",
    "stops",
    "ends",
    "remarks",
)
# What an agent is doing, in the same words for every agent. A driver that says another word is refused on its own
# side (`agents/base/keeper_channel.py`); a keeper that hears another word records `unknown`.
_AGENT_PHASES = {
    "starting": BEGINS,
    "thinking": THINKS,
    "running": WORKS,
    "editing": WORKS,
    "verifying": WORKS,
    "compacting": THINKS,
    "metering": REMARKS,
    "warning": REMARKS,
    "needs_approval": ASKS,
    "needs_input": ASKS,
    "stuck": STALLS,
    "stopping": STOPS,
    "completed": ENDS,
    "failed": ENDS,
    "idle": RESTS,
    "unknown": REMARKS,
}


def agent_phases(*natures: str) -> frozenset[str]:
    """Return the phases of an agent that say one of these things of it."""
    return frozenset(phase for phase, nature in _AGENT_PHASES.items() if nature in natures)


# An agent's tool is at work.
AT_WORK = agent_phases(WORKS)
# Every phase that an event of each type can have. An elided event keeps the phase that it had.
PHASES: dict[str, tuple[str, ...]] = {
    STARTED: ("running",),
    OUTPUT: ("running",),
    HEARTBEAT: ("running",),
    WATCHDOG: tuple(WATCHDOG_FIELDS),
    AGENT: tuple(_AGENT_PHASES),
    SIGNAL: ("stopping",),
    STORE: ("warning",),
    EXITED: ENDINGS,
}

_EVERY: dict[str, values.Reading] = {"ts": values.text, "phase": values.text, "message": values.text, "v": values.whole}
_TYPES: dict[str, dict[str, values.Reading]] = {
    STARTED: _EVERY | {"pid": values.pid, "limits": LIMITS, "attempt": values.whole},
    OUTPUT: _EVERY | {"stream": values.text, "bytes": values.whole, "offset": values.whole, "alive": values.flag},
    HEARTBEAT: _EVERY | {"status": values.text},
    WATCHDOG: _EVERY | {name: read for fields in WATCHDOG_FIELDS.values() for name, read in fields.items()},
    AGENT: _EVERY | {"alive": values.flag, "diagnosis": _DIAGNOSIS, "suggestions": values.texts, "method": values.text},
    SIGNAL: _EVERY
    | {
        "step": values.text,
        "signal": values.text,
        "reason": values.text,
        "count": values.whole,
        "pids": values.each_of(values.pid),
    },
    STORE: _EVERY | {"bytes": values.whole, "missing": values.whole},
    EXITED: _EVERY
    | {
        "status": values.one_of(*STATUSES),
        "exitCode": values.integer,
        "signal": values.text,
        "timeoutReason": values.one_of("exec_timeout", "no_output_timeout"),
        "budget": _BUDGET,
        "terminationMode": values.one_of("soft", "hard"),
        "durationMs": values.number,
        "idleMs": values.number,
        "longestSilenceMs": values.number,
        "keeperCpuMs": values.number,
        "totalMs": values.number,
        "attempts": values.whole,
        "earlier": values.each_of(
            values.object_of(
                {
                    "attempt": values.whole,
                    "message": values.text,
                    "status": values.text,
                    "exitCode": values.integer,
                    "timeoutReason": values.text,
                    "durationMs": values.number,
                }
            )
        ),
        "leaked": values.flag,
        "stalled": values.flag,
        "retryable": values.flag,
        "cancelledBy": values.text,
        "error": _ERROR,
        "leftovers": _PROCESSES,
        "suggestions": values.texts,
        "bytes": values.table_of(values.whole),
    },
}


def from_line(line: bytes) -> Event | None:
    """Return the event of one line, or None for a torn or foreign line; never raise.

    Every event has seq, ts, type, phase and message. A field whose value has another type than it is written with is
    left out. A type or a phase that is not known here is kept: a newer unhang may have written it.
    """
    event = values.parse_object(line)
    if event is None or not values.whole(event.get("seq")) or not isinstance(event.get("type"), str):
        return None
    event = values.with_types(event, _TYPES.get(event["type"], _EVERY))
    for name in ("ts", "phase", "message"):
        if event.get(name) is None:
            event[name] = ""
    return event
