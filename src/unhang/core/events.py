"""Every event a job can have, in one place, and its form on disk: one JSON object a line, at most 4 KiB.

Every event has `seq` (1, 2, 3 … without a gap), `ts`, `type`, `phase` and `message` (one line for people); the
first one also says the format version (`v`). The functions here make the rest; the log adds `seq` and `ts` when it
writes. Field names are camelCase: this is a wire format. Durations are milliseconds.

A line that would be too long loses its `raw`, then everything but its head (`oversize-event-elided`): a reader can
rely on the bound, and a single write of such a line is not torn by other readers.
"""

from __future__ import annotations

from unhang.core import values

TYPE_CHECKING = False
if TYPE_CHECKING:
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
# Something about the recording itself: bytes that could not be stored, a torn line that was cut.
STORE = "store"
TYPES = (STARTED, OUTPUT, HEARTBEAT, WATCHDOG, AGENT, SIGNAL, STORE, EXITED, ELIDED)

# How a job can end: the phase of its last event, and the status that follows from it.
ENDINGS = ("completed", "failed", "timed_out", "cancelled", "lost")
STATUSES = ("success", "error", "timeout", "cancelled")
WATCHDOG_PHASES = ("stuck", "needs_input", "quiet", "warning", "extended", "resumed", "timeout", "slow", "retry")


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def started(pid: int, command: str, limits: dict[str, Any], agent: dict[str, Any] | None = None) -> Event:
    event: Event = {
        "type": STARTED,
        "phase": "running",
        "message": f"started: {command[:200]}",
        "pid": pid,
        "limits": limits,
    }
    return event if agent is None else event | {"agent": agent}


def output(stream: str, count: int, offset: int) -> Event:
    """`count` bytes came; the first of them is byte `offset` of everything that stream ever printed."""
    return {
        "type": OUTPUT,
        "phase": "running",
        "message": f"{count} bytes on {stream}",
        "stream": stream,
        "bytes": count,
        "offset": offset,
    }


def heartbeat(status: str) -> Event:
    return {"type": HEARTBEAT, "phase": "running", "message": status or "alive", "status": status}


def watchdog(phase: str, message: str, **fields: Any) -> Event:
    return {"type": WATCHDOG, "phase": phase, "message": message} | _given(fields)


def signal(step: str, name: str, pids: list[int], reason: str, message: str) -> Event:
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
    return {"type": STORE, "phase": "warning", "message": message} | _given(fields)


def exited(phase: str, message: str, fields: dict[str, Any]) -> Event:
    return {"type": EXITED, "phase": phase, "message": message} | fields


def is_promise(event: Event) -> bool:
    """Must it survive a power cut once a reader knows of it? What is done to a job, and what is about to be."""
    return event.get("type") in (WATCHDOG, SIGNAL, EXITED)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _dump(event: Event) -> bytes:
    return values.dump(event, compact=True).encode() + b"\n"


def to_line(event: Event) -> bytes:
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
        # the one event whose contents may not be lost: shed what is long, keep what is true
        return _dump(_shortened(event))
    return _dump(head | {"message": str(event.get("message", ""))[:200]})


def _shortened(event: Event) -> Event:
    """The end of a job with its lists and texts cut until it fits."""
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


def _moved(value: Any) -> dict[str, Any] | None:
    """`limits` of a notice: those that have changed, and what they are now (null: off)."""
    if not isinstance(value, dict):
        return None
    return {name: limit for name, limit in value.items() if limit is None or values.number(limit) is not None}


_EVERY: dict[str, values.Reading] = {"ts": values.text, "phase": values.text, "message": values.text, "v": values.whole}
_TYPES: dict[str, dict[str, values.Reading]] = {
    STARTED: _EVERY | {"pid": values.pid, "limits": LIMITS, "attempt": values.whole},
    OUTPUT: _EVERY | {"stream": values.text, "bytes": values.whole, "offset": values.whole},
    HEARTBEAT: _EVERY | {"status": values.text},
    WATCHDOG: _EVERY
    | {
        "diagnosis": _DIAGNOSIS,
        "prompt": values.text,
        "password": values.flag,
        "since": values.text,
        "reason": values.text,
        "tier": values.text,
        "stallMs": values.number,
        "idleMs": values.number,
        "wallClockMs": values.number,
        "willAbortInMs": values.number,
        "attempt": values.whole,
        "limits": _moved,
    },
    AGENT: _EVERY | {"diagnosis": _DIAGNOSIS, "suggestions": values.texts, "method": values.text},
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
        "terminationMode": values.one_of("soft", "hard"),
        "durationMs": values.number,
        "idleMs": values.number,
        "longestSilenceMs": values.number,
        "totalMs": values.number,
        "attempts": values.whole,
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
    """None for a torn or foreign line; never raises. What an event of that type carries has the type that is written:
    a field with anything else is left out. Every event has seq, ts, type, phase and message."""
    try:
        event = values.parse(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not values.whole(event.get("seq")) or not isinstance(event.get("type"), str):
        return None
    event = values.with_types(event, _TYPES.get(event["type"], _EVERY))
    for name in ("ts", "phase", "message"):
        if event.get(name) is None:
            event[name] = ""
    return event
