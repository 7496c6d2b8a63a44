"""Follows one job for an agent that does other things meanwhile: what there is to tell of it, and its last lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.core import job_news, mask, plain_text
from unhang.core.events import EXITED
from unhang.core.spec import NAME, command_line
from unhang.jobs.results import recorded_end

if TYPE_CHECKING:
    from unhang.core.job_news import News
    from unhang.jobs.handle import Job

_LINES = 5
_LONGEST_LINE = 160
_TAIL = 4096


class JobNews:
    """The news of one job since an event of it. `look` reads on; what is over before it was told is not told."""

    def __init__(self, job: Job, after_seq: int) -> None:
        self.job = job
        self.ended = False
        self._read = self._seen = after_seq
        self._untold: News | None = None

    def look(self, *, thoroughly: bool = False) -> None:
        """Read what is new. `thoroughly`: find out, too, whether its keeper has died; that costs more."""
        if self.ended or not (thoroughly or self.job.last_seq() > self._read):
            return
        events = self.job.events(after_seq=self._read)
        self._read = events[-1]["seq"] if events else self._read
        end = recorded_end(self.job.place, self._read)
        events = [event for event in events if event["type"] != EXITED] + ([] if end is None else [end])
        if events:
            self._untold = job_news.newest(events, self._untold)
        self.ended = end is not None
        self.seen(self._seen)

    def seen(self, seq: int) -> None:
        """Note that the agent was told all up to this event in another way."""
        self._seen = max(self._seen, seq)
        if self._untold is not None and self._untold.seq <= self._seen:
            self._untold = None

    @property
    def untold(self) -> News | None:
        """Return what there is to tell."""
        return self._untold

    def take(self) -> News | None:
        """Return what there is to tell, once."""
        found, self._untold = self._untold, None
        return found

    def sentence(self, news: News) -> str:
        """Return the news as a sentence: the job by its id and name, and what is with it.

        A failure has its last lines, too.
        """
        spec = self.job.spec
        name = plain_text.quoted(str((spec.get("labels") or {}).get(NAME) or mask.line(command_line(spec))), 60)
        text = f"job {self.job.id} ({name}) {news.text}"
        lines = self._last_lines() if news.failed else []
        return f"{text}. Its last lines: {' '.join(lines)}" if lines else text

    def _last_lines(self) -> list[str]:
        text = self.job.tail("stderr", _TAIL).rstrip() or self.job.tail("stdout", _TAIL)
        lines = [line for line in plain_text.harmless(text).splitlines() if line.strip()]
        return [plain_text.quoted(mask.line(line.strip()), _LONGEST_LINE) for line in lines[-_LINES:]]
