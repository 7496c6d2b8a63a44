"""Follows the background jobs of one session of an agent, and tells what the session has not heard otherwise.

Beside Claude Code it runs as long as the session (`follow`): a new job wakes it, and an event of one that it follows;
between them it costs nothing. Codex asks by its hooks (`take_news`).
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from unhang.errors import UnhangError
from unhang.jobs import news_cursor
from unhang.jobs.handle import Job
from unhang.jobs.news import JobNews
from unhang.procs import identity
from unhang.procs.wakeup import Wakeup
from unhang.store import files, find, layout
from unhang.store import home as homes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from unhang.core.job_news import News

# News waits so long: an answer that is under way may tell the session the same.
GRACE = 2.0
# How often it is found out whether a keeper has died.
_THOROUGHLY = 15.0
# A directory that has no record after this time is no job of the session.
_UNBORN = 10.0
_MOST_LINES = 8


def follow(home: str, environ: Mapping[str, str], pid: int, tell: Callable[[str], None]) -> None:
    """Call `tell` with each line until the process of the session has ended."""
    folder = homes.ensure(home)
    with Wakeup() as wakeup:
        if not wakeup.add_process(pid):
            return
        wakeup.add_file(folder)
        watched = _Session(home, environ, wakeup)
        thoroughly = 0.0
        while identity.exists(pid):
            now = time.monotonic()
            late = now >= thoroughly
            thoroughly = now + _THOROUGHLY if late else thoroughly
            watched.find(folder, now)
            for line in watched.news(now, thoroughly=late):
                tell(line)
            wakeup.wait(min([thoroughly, *watched.due()]) - time.monotonic())


def take_news(home: str, environ: Mapping[str, str]) -> list[str]:
    """Return what the agent of this session has not been told of its background jobs, a line each; now it has been."""
    found = []
    for name in sorted(find.all_ids(home)):
        try:
            job = _job_of(home, name, files.read_json(layout.JobDir(home, name).job), environ)
            if job is None:
                continue
            each = JobNews(job, news_cursor.read(job))
            each.look(thoroughly=True)
            news = each.take()
            if news is not None:
                found.append(f"{each.sentence(news)}. {_next(name, news)}")
                news_cursor.note(job, news.seq, environ)
        except (UnhangError, OSError):
            continue  # deleted meanwhile
    return _shortened(found)


def _job_of(home: str, name: str, record: dict[str, Any] | None, environ: Mapping[str, str]) -> Job | None:
    """The job of this name, if it is one of the session's in the background. Raises UnhangError, OSError."""
    if record is None or record.get("foreground", True):
        return None
    job = Job(layout.existing(home, name))
    return job if news_cursor.is_of(job, environ) else None


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"and {more} more jobs have news: unhang ps --all"] if more > 0 else lines


class _Session:
    def __init__(self, home: str, environ: Mapping[str, str], wakeup: Wakeup) -> None:
        self._home = home
        self._environ = environ
        self._wakeup = wakeup
        self._known: set[str] = set()
        self._unborn: dict[str, float] = {}  # without a record so far → until when it is waited for
        self._jobs: dict[str, JobNews] = {}
        self._due: dict[str, tuple[int, float]] = {}  # job → the event that is to be told, and when

    def find(self, folder: str, now: float) -> None:
        """Look for jobs of the session that are new."""
        names = {name for name in os.listdir(folder) if layout.is_id(name)}
        for name in names - self._known:
            self._unborn[name] = now + _UNBORN
        self._known = names
        for name, until in list(self._unborn.items()):
            record = files.read_json(layout.JobDir(self._home, name).job)
            if record is None and now < until:
                continue
            del self._unborn[name]
            self._meet(name, record)

    def _meet(self, name: str, record: dict[str, Any] | None) -> None:
        try:
            job = _job_of(self._home, name, record, self._environ)
            if job is not None:
                self._jobs[name] = JobNews(job, news_cursor.read(job))
                self._wakeup.add_file(job.place.events)
        except (UnhangError, OSError):
            return

    def due(self) -> list[float]:
        """When to look again, even if nothing happens."""
        soon = [time.monotonic() + 0.2] if self._unborn else []
        return [*soon, *(at for _, at in self._due.values())]

    def news(self, now: float, *, thoroughly: bool) -> list[str]:
        """Return what is to be told now."""
        found = []
        for name, each in list(self._jobs.items()):
            try:
                line = self._news_of(name, each, now, thoroughly=thoroughly)
            except (UnhangError, OSError):
                self._forget(name)  # deleted
                continue
            if line:
                found.append(line)
        return _shortened(found)

    def _news_of(self, name: str, each: JobNews, now: float, *, thoroughly: bool) -> str:
        each.look(thoroughly=thoroughly)
        each.seen(news_cursor.read(each.job))
        news = each.untold
        if news is None:
            self._due.pop(name, None)
            if each.ended:
                self._forget(name)
            return ""
        seq, at = self._due.get(name, (0, 0.0))
        if seq != news.seq:
            self._due[name] = (news.seq, now + GRACE)
            return ""
        if now < at:
            return ""
        each.take()
        del self._due[name]
        news_cursor.note(each.job, news.seq, self._environ)
        if each.ended:
            self._forget(name)
        return f"{each.sentence(news)}. {_next(name, news)}"

    def _forget(self, name: str) -> None:
        self._jobs.pop(name, None)
        self._due.pop(name, None)


def _next(job: str, news: News) -> str:
    """What the agent can do about it."""
    match news.kind:
        case "needs_input" | "needs_approval":
            return f"Answer: unhang send {job} ANSWER"
        case "stuck":
            return f"Look: unhang diagnose {job}; end it: unhang cancel {job}"
        case "warning":
            return f"More time: unhang extend {job} --{'hard' if 'hard limit' in news.text else 'idle'} 10m"
    return f"Output: unhang result {job}"
