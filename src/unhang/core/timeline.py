"""The life of a job as a picture: when it printed, when it was silent, what was noticed, and what its agent did.

Built from the events alone, of which any number may come: what is kept is bounded, and coarser for a longer life.
"""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core import mask, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_STEPS = 1500
_MOST_MARKS = 1000
_MOST_SPANS = 1000
# A silence that is shorter than this is none.
SILENCE = 10.0
_LINE = 200
# What an agent does, as a span from the event that says so to the next one.
_THINKS = ev.agent_phases(ev.THINKS)
# What an agent says that has a mark of its own.
_MARKED = ev.agent_phases(ev.ASKS, ev.STALLS, ev.ENDS) | {"warning"}


class Timeline:
    """What the events so far make of the picture. Only `apply` changes it."""

    def __init__(self) -> None:
        self.seq = 0
        self._begin: float | None = None
        self._end: float | None = None
        self._ended = False
        self._step = 1  # seconds
        self._output: dict[int, int] = {}
        self._alive: float | None = None
        self._silences: list[tuple[float, float]] = []
        self._marks: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._thoughts: list[dict[str, Any]] = []
        self._thinks_since: float | None = None
        self._offsets: list[tuple[float, str, int]] = []

    def apply(self, event: ev.Event) -> None:
        """Take one more event into account."""
        self.seq = max(self.seq, values.whole(event.get("seq")) or 0)
        at = values.moment(event.get("ts"))
        if at is None:
            return
        self._begin = at if self._begin is None else min(self._begin, at)
        self._end = at if self._end is None else max(self._end, at)
        kind, phase = event.get("type"), str(event.get("phase") or "")
        if kind == ev.OUTPUT:
            self._live(at)
            self._printed(at, event)
        elif kind in (ev.HEARTBEAT, ev.STARTED, ev.AGENT):
            self._live(at)
        if kind == ev.AGENT:
            self._agent(at, phase, event)
        if kind == ev.EXITED:
            self._ended = True
            self._quiet(at)
        if kind in (ev.WATCHDOG, ev.SIGNAL, ev.STORE, ev.STARTED, ev.EXITED) or (kind == ev.AGENT and phase in _MARKED):
            self._mark(at, str(kind), phase, event)

    def _printed(self, at: float, event: ev.Event) -> None:
        step = int(at // self._step)
        self._output[step] = self._output.get(step, 0) + (event.get("bytes") or 0)
        while len(self._output) > _MOST_STEPS:
            self._step *= 2
            halved: dict[int, int] = {}
            for each, count in self._output.items():
                halved[each // 2] = halved.get(each // 2, 0) + count
            self._output = halved
        self._offsets.append((at, str(event.get("stream") or ""), event.get("offset") or 0))
        if len(self._offsets) > 2 * _MOST_MARKS:
            del self._offsets[::2]

    def _live(self, at: float) -> None:
        self._quiet(at)
        self._alive = at

    def _quiet(self, at: float) -> None:
        if self._alive is not None and at - self._alive >= SILENCE and len(self._silences) < _MOST_SPANS:
            self._silences.append((self._alive, at))

    def _agent(self, at: float, phase: str, event: ev.Event) -> None:
        if phase in _THINKS and self._thinks_since is None:
            self._thinks_since = at
        elif phase not in _THINKS and phase != "metering" and self._thinks_since is not None:
            if len(self._thoughts) < _MOST_SPANS:
                self._thoughts.append({"fromMs": _ms(self._thinks_since), "toMs": _ms(at)})
            self._thinks_since = None
        call = ev.call_of(event)
        if call is None:
            return
        known = self._calls.get(call)
        if known is not None:
            known["toMs"] = _ms(at)
            known["failed"] = known["failed"] or bool(event.get("failed"))
        elif len(self._calls) < _MOST_SPANS:
            text = _line(event)
            self._calls[call] = {
                "id": call,
                "what": text,
                "phase": phase,
                "fromMs": _ms(at),
                "toMs": None,
                "failed": False,
            }

    def _mark(self, at: float, kind: str, phase: str, event: ev.Event) -> None:
        mark = {"seq": event.get("seq"), "atMs": _ms(at), "type": kind, "phase": phase, "message": _line(event)}
        if kind == ev.STARTED and event.get("attempt"):
            mark["attempt"] = event["attempt"]
        self._marks.append(mark)
        if len(self._marks) > _MOST_MARKS:
            del self._marks[_MOST_MARKS // 2]  # the beginning and the end are what a person asks for

    def to_json(self) -> dict[str, Any]:
        """Return the picture as data. `output`: pairs of the beginning of a step and the bytes of that step."""
        end = _ms(self._end) if self._end is not None else None
        open_thought = (
            [] if self._thinks_since is None or self._ended else [{"fromMs": _ms(self._thinks_since), "toMs": None}]
        )
        calls = [
            call | ({"toMs": end} if call["toMs"] is None and self._ended else {}) for call in self._calls.values()
        ]
        return {
            "seq": self.seq,
            "fromMs": None if self._begin is None else _ms(self._begin),
            "toMs": end,
            "ended": self._ended,
            "stepMs": self._step * 1000,
            "output": [[step * self._step * 1000, self._output[step]] for step in sorted(self._output)],
            "silences": [{"fromMs": _ms(begin), "toMs": _ms(until)} for begin, until in self._silences],
            "aliveMs": None if self._alive is None else _ms(self._alive),
            "marks": self._marks,
            "calls": calls,
            "thoughts": self._thoughts + open_thought,
            "offsets": [[_ms(at), stream, offset] for at, stream, offset in self._offsets],
        }


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _line(event: ev.Event) -> str:
    return mask.one_line(str(event.get("message") or ""), _LINE)
