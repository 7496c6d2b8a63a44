"""What a person is told while a caller waits for a job: one line of progress now and then, and the events that matter.

Every wait that takes long reports through a `Listener`. A face implements it in its own terms: a notification of a
protocol, a line on a terminal, a message to a browser.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from unhang.core import mask, plain_text
from unhang.core.durations import human
from unhang.core.live_line import Standing
from unhang.core.record import Record
from unhang.core.spec import name_of
from unhang.jobs.end_time import next_end
from unhang.jobs.history import usual_duration
from unhang.jobs.question import question_of
from unhang.jobs.results import elapsed_of, view_of
from unhang.procs import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from unhang.core.events import Event
    from unhang.core.view import View
    from unhang.jobs.handle import Job

    _Answer = TypeVar("_Answer")

LONGEST_LINE = 190


class Listener(Protocol):
    """Is told what happens to a job while a caller waits for it."""

    async def progress(self, line: str, total: float | None = None) -> None:
        """Report where the job stands; `total` is its hard limit in seconds."""

    async def tell(self, job: Job, event: Event) -> None:
        """Report an event at the moment it happens. `core.notices` says which events people are shown."""


class SilentListener:
    """A listener that reports nothing, for waits that are over in seconds."""

    async def progress(self, line: str, total: float | None = None) -> None:
        """Report nothing."""

    async def tell(self, job: Job, event: Event) -> None:
        """Report nothing."""


class InThread(Protocol):
    """Runs blocking work in a thread of the face's own pool."""

    def __call__(self, work: Callable[..., _Answer], /, *args: Any) -> Awaitable[_Answer]:
        """Return what `work(*args)` returns."""


class ReportTimes(Record):
    """When a wait reports progress: `first` seconds after it began, then `every` so many seconds."""

    first: float
    every: float


class TimeLeft(Record):
    """How long until a job is ended by a limit, and what could still move that limit."""

    seconds: float
    unless: str
    tier: str  # "idle" or "hard"


def progress_line(job: Job, view: View) -> str:
    """Return elapsed time, the last line, what the job waits for, and how long until it is stopped.

    It asks the job's keeper, so an event loop must not call it.
    """
    parts = [human(elapsed_of(view) or 0.0)]
    # why an agent is silent is said once, as what it waits for
    doing = str(((view.doing if view.silent else view.agent) or {}).get("message") or "")
    last = plain_text.one_line(doing, 80) if doing else plain_text.last_line(_end_of_output(job), 80)
    if last:
        parts.append(plain_text.quoted(last, 80))
    parts.append(_state_of(job, view))
    left = time_left(job, view)
    if left is not None:
        parts.append(f"stopped in {human(left.seconds)} {left.unless}")
    return mask.one_line(" · ".join(part for part in parts if part), LONGEST_LINE)


def _state_of(job: Job, view: View) -> str:
    """What a job waits for, or what it says of itself; empty if nothing is known."""
    question = question_of(job, view)
    if question is not None:
        return f"waits for input: {question.quoted(60)}"
    if view.diagnosis is not None and view.silent:
        return view.reason_at(clock.wall())
    return f"says {plain_text.quoted(view.heartbeat, 60)}" if view.heartbeat else ""


class Waited:
    """A job that a person waits for: where it stands, each time it is asked."""

    def __init__(self, job: Job) -> None:
        self._job = job
        record = job.spec
        self._name = name_of(record.get("labels")) or job.id
        self._usual = usual_duration(job.place.home, record)

    @property
    def id(self) -> str:
        """Return the id of the job."""
        return self._job.id

    def standing(self) -> Standing:
        """Return where the job stands now."""
        view = self._job.view()
        if view.ended:
            message = str((view.outcome or {}).get("message") or view.status)
            return Standing(self._name, None, None, "", None, "", ended=mask.one_line(message, 190))
        elapsed = elapsed_of(view)
        doing = _state_of(self._job, view) or plain_text.last_line(_end_of_output(self._job), 80)
        left = time_left(self._job, view)
        doing = mask.one_line(doing, LONGEST_LINE)
        seconds, unless = (None, "") if left is None else (left.seconds, left.unless)
        return Standing(self._name, elapsed, self._usual, doing, seconds, unless)


def progress_of_several(running: list[Job], count: int) -> str:
    """Return one line about several jobs of which these still run: how many, and where the first of them stands."""
    first = running[0]
    line = progress_line(first, view_of(first.place))
    return line if count == 1 else f"{len(running)} of {count} jobs run; {first.id}: {line}"[:LONGEST_LINE]


def time_left(job: Job, view: View) -> TimeLeft | None:
    """Return the time until the nearer of a job's two limits; None: no limit ends it now."""
    found = next_end(job.place, view)
    if found.at is None:
        return None
    unless = "at its hard limit" if found.limit == "hard" else "unless output comes"
    return TimeLeft(max(0.0, found.at - clock.wall()), unless, found.limit)


def _end_of_output(job: Job) -> bytes:
    """The end of the stream that was written to last."""
    newest, at = "stdout", -1.0
    for name in ("stdout", "stderr"):
        for suffix in ("", ".tail"):
            try:
                found = os.stat(job.place.stream(name) + suffix)
            except OSError:
                continue
            if found.st_size and found.st_mtime > at:
                newest, at = name, found.st_mtime
    return job.tail(newest, 1024).encode("utf-8", "replace")
