"""Every event a job can have, in one place, and its form on disk: one JSON object a line, at most 4 KiB.

Every event has `seq` (1, 2, 3 … without a gap), `ts`, `type`, `phase` and `message` (one line for people); the
first one also says the format version (`v`). The functions here make the rest; the log adds `seq` and `ts` when it
writes. Field names are camelCase: this is a wire format. Durations are milliseconds.

A line that would be too long loses its `raw`, then everything but its head (`oversize-event-elided`): a reader can
rely on the bound, and a single write of such a line is not torn by other readers.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Event = dict[str, Any]

FORMAT = 1
MAX_LINE = 4096
_MOST_EVENTS = 1 << 53  # what JSON's readers agree on

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

# How a job can end: the phase of its last event.
ENDINGS = ("completed", "failed", "timed_out", "cancelled", "lost")
WATCHDOG_PHASES = ("stuck", "needs_input", "quiet", "warning", "extended", "resumed", "timeout", "slow", "retry")


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def started(pid: int, command: str, limits: dict[str, Any]) -> Event:
    return {
        "type": STARTED,
        "phase": "running",
        "message": f"started: {command[:200]}",
        "pid": pid,
        "limits": limits,
    }


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
    # undecodable bytes of a command line arrive as lone surrogates; they become "?" rather than invalid UTF-8
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


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


def from_line(line: bytes) -> Event | None:
    """None for a torn or foreign line; never raises."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return None
    seq = event.get("seq")
    return event if isinstance(seq, int) and not isinstance(seq, bool) and 0 < seq < _MOST_EVENTS else None
