"""The trace that a job belongs to: `TRACEPARENT` as W3C Trace Context has it, from the caller and to the job.

A job takes part in the trace of its caller, or begins one. It gets a span of its own, which whatever it starts has as
parent: so an agent, its tools, their jobs and the agents in those are one trace, whatever records it.
"""

from __future__ import annotations

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PARENT = "TRACEPARENT"
# What other systems say of the trace. It goes with a valid parent and means nothing without one.
STATE = "TRACESTATE"
# How many random bytes a trace needs.
RANDOM = 24
_HEX = frozenset("0123456789abcdef")
_SAMPLED, _KNOWN_FLAGS = 1, 3


class Trace(Record):
    """The place of one job in a trace: ids in hexadecimal. `parent`: the span that the job was started in."""

    id: str
    span: str
    parent: str | None = None
    flags: int = _SAMPLED

    @property
    def sampled(self) -> bool:
        """Return whether who began the trace wants it to be recorded."""
        return bool(self.flags & _SAMPLED)

    @property
    def traceparent(self) -> str:
        """Return what the job gets as `TRACEPARENT`: its own span is the parent of all that it starts."""
        return f"00-{self.id}-{self.span}-{self.flags:02x}"

    def to_json(self) -> dict[str, Any]:
        """Return it as job.json holds it; `from_json` reads it back."""
        return {"traceId": self.id, "spanId": self.span, "parentSpanId": self.parent, "flags": self.flags}


def begin(inherited: str | None, random: bytes) -> Trace:
    """Return the place of a new job, from the `TRACEPARENT` of its caller and RANDOM random bytes.

    A text that is not valid counts as none, and a new trace begins.
    """
    span = _nonzero(random[16:24].hex())
    found = parse(inherited)
    if found is None:
        return Trace(_nonzero(random[:16].hex()), span)
    return Trace(found.id, span, found.span, found.flags)


def parse(text: str | None) -> Trace | None:
    """Return a `TRACEPARENT`, whose span is that of the caller; None if it is not valid."""
    if text is None or len(text) < 55 or text[2] != "-" or text[35] != "-" or text[52] != "-":
        return None
    version, trace, span, flags = text[:2], text[3:35], text[36:52], text[53:55]
    if set(version + trace + span + flags) - _HEX or version == "ff" or not trace.strip("0") or not span.strip("0"):
        return None
    if len(text) > 55 and (version == "00" or text[55] != "-"):  # only a later version may have more
        return None
    return Trace(trace, span, None, int(flags, 16) & _KNOWN_FLAGS)


def from_json(value: Any) -> Trace | None:
    """Return the trace in a job's record; None where it has none that can be used."""
    if not isinstance(value, dict):
        return None
    flags = value.get("flags")
    found = parse(f"00-{value.get('traceId')}-{value.get('spanId')}-{flags & 3 if isinstance(flags, int) else 1:02x}")
    parent = value.get("parentSpanId")
    if found is None or not isinstance(parent, str) or len(parent) != 16 or set(parent) - _HEX:
        return found
    return found.replace(parent=parent)


def environment(trace: Trace, inherited: dict[str, str]) -> dict[str, str]:
    """Return the environment of a job: that of its caller, with the job's own place in the trace."""
    kept = inherited
    if trace.parent is None and STATE in inherited:
        kept = {name: value for name, value in inherited.items() if name != STATE}
    return kept | {PARENT: trace.traceparent}


def _nonzero(text: str) -> str:
    """An id of only zeros means none."""
    return text if text.strip("0") else text[:-1] + "1"
