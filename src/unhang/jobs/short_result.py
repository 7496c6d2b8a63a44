"""The result of a job, cut to what a model or a page can show.

The sections are those of `unhang result --json`. Of each stream it has the beginning and the end, with the offset to
read on; of the events those that explain the end; of a diagnosis the first processes.
"""

from __future__ import annotations

from unhang.core.durations import human
from unhang.core.notices import audience
from unhang.core.record import Record
from unhang.core.result import Printed, build
from unhang.jobs.question import question_of
from unhang.jobs.results import elapsed_of, excerpt, view_with_limits
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.result import Result
    from unhang.core.view import View
    from unhang.jobs.handle import Job
    from unhang.jobs.question import InputQuestion
    from unhang.jobs.results import Excerpt

STREAMS = ("stdout", "stderr")
_LAST_EVENTS = 5
_PARTIAL_TAIL = 2000
_PROCESSES = 8


class ShortResult(Record):
    """What is known of a job: its result, the view it was made of, and what of each stream is in it."""

    result: Result
    view: View
    excerpts: dict[str, Excerpt]
    question: InputQuestion | None

    @property
    def message(self) -> str:
        """Return one line: how the job ended, or where it stands."""
        result = self.result
        if result.status != "running":
            return str(result.outcome.get("message") or (result.error or {}).get("message") or result.status)
        took = human(result.duration or 0.0)
        if self.question is not None:
            asks = f"it asks: {self.question.quoted(80)}" if self.question.prompt else "it waits for input"
            return f"running for {took}; {asks}"
        return f"running for {took}"

    def to_json(self) -> dict[str, Any]:
        """Return the result as a program reads it. `recovery` has the words of the command line."""
        shown = self.result.to_json()
        return shown | {
            "partial": _partial(shown["partial"], self.view),
            "diagnosis": _diagnosis(shown["diagnosis"]),
            "message": self.message,
            "phase": self.view.phase,
            "seq": self.view.seq,
            "needsInput": self.view.needs_input,
            "heartbeat": self.view.heartbeat,
            "output": {name: _position(found) for name, found in self.excerpts.items()},
        }


def short_result_of(job: Job, output_bytes: int, view: View | None = None) -> ShortResult:
    """Return what is known of a job now, with at most about so many bytes of each stream. `view`: of all its events."""
    view = view_with_limits(job.place, view)
    found = {name: excerpt(job, view, name, most=output_bytes, tail=_PARTIAL_TAIL) for name in STREAMS}
    stdout, stderr = (_printed(found[name]) for name in STREAMS)
    result = build(job.id, view, stdout, stderr, elapsed_of(view))
    if not view.ended:
        result = result.replace(diagnosis=view.diagnosis_at(clock.wall()))
    return ShortResult(result, view, found, question_of(job, view))


def _printed(found: Excerpt) -> Printed:
    return Printed(found.text, found.tail, found.left_out is not None)


def _position(found: Excerpt) -> dict[str, Any]:
    position: dict[str, Any] = {"bytes": found.total}
    if found.left_out is not None:
        position |= {"leftOutFrom": found.left_out[0], "leftOutTo": found.left_out[1]}
    return position


def _partial(partial: dict[str, Any] | None, view: View) -> dict[str, Any] | None:
    """The tails, and the events that explain the end; of an agent all that it did last."""
    if partial is None:
        return None
    told = view.last_of_agent or [event for event in partial["lastEvents"] if audience(event).model][-_LAST_EVENTS:]
    short = [{k: v for k, v in event.items() if k not in ("diagnosis", "pids", "raw")} for event in told]
    return partial | {"lastEvents": short}


def _diagnosis(diagnosis: dict[str, Any] | None) -> dict[str, Any] | None:
    if diagnosis is None:
        return None
    return diagnosis | {"processes": list(diagnosis.get("processes") or [])[:_PROCESSES]}
