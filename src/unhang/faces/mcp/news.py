"""News of jobs that were handed over: as a notification when no call is in flight, and on top of the next answer.

A client of the handshake era gets a log message. The modern era forbids one outside of a call; there a client that
listens hears that the job's resource has changed (resources.py). A model sees neither, so whatever happened since the
last answer stands on top of the next one, whichever tool it calls.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from unhang.core import values
from unhang.core.job_news import News
from unhang.errors import UnhangError
from unhang.faces.mcp.call import McpClient
from unhang.jobs import news_cursor
from unhang.jobs.handle import Job, attach
from unhang.jobs.news import JobNews

_EVERY = 1.0
# How often it is found out whether the keeper of a followed job has died.
_THOROUGHLY = 15.0
_MOST_JOBS = 200
# Beside the answer itself, which has at most 12 lines of our own.
_MOST_LINES = 3


class _Followed:
    """A job, the client that was told that it runs, and whether its newest news went out as a notification."""

    def __init__(self, client: McpClient, news: JobNews) -> None:
        self.client = client
        self.news = news
        self.notified = 0


class HandedOver:
    """The jobs of one server that go on without a call."""

    def __init__(self, home: str, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._home = home
        self._in_thread = in_thread
        self._followed: OrderedDict[tuple[object, str], _Followed] = OrderedDict()
        self._attended: Counter[str] = Counter()
        self._lock = threading.Lock()  # two threads that read one job would tell of it twice
        self._task: asyncio.Task[None] | None = None

    def follow(self, client: McpClient, job: Job, seq: int) -> None:
        """Tell a client what happens to a job after an event that it has been told of."""
        key = client.key
        found = self._followed.pop((key, job.id), None) or _Followed(client, JobNews(job, seq))
        found.news.seen(seq)
        self._followed[key, job.id] = found
        while len(self._followed) > _MOST_JOBS:
            self._followed.popitem(last=False)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    @contextlib.contextmanager
    def attending(self, jobs: list[Job]) -> Iterator[None]:
        """Send no notifications of these jobs meanwhile: a call waits for them and reports."""
        names = [job.id for job in jobs]
        self._attended.update(names)
        try:
            yield
        finally:
            self._attended.subtract(names)

    async def with_news(self, client: McpClient, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a tool with what its client has missed on top of it."""
        key = client.key
        for job_id, seq in _told_of(answer.get("structuredContent")):
            if (key, job_id) in self._followed:
                self._followed[key, job_id].news.seen(seq)
            if "CLAUDE_PID" in os.environ:  # the monitor of the session need not tell it again
                await self._in_thread(self._note, job_id, seq)
        content = answer.get("content")
        if not isinstance(content, list) or not any(followed == key for followed, _ in self._followed):
            return answer
        missed = await self._in_thread(self._missed, key)
        if not missed:
            return answer
        lines = [f"- {values.visible_bytes(line)}" for _, line in missed[:_MOST_LINES]]
        if len(missed) > _MOST_LINES:
            lines.append(f"- and {len(missed) - _MOST_LINES} more: call `list`")
        text = "\n".join(["NEWS since your last call:", *lines])
        shown = answer | {"content": [{"type": "text", "text": text}, *content]}
        if isinstance(answer.get("structuredContent"), dict):
            news = [{"jobId": job, "message": values.visible_bytes(line)} for job, line in missed]
            shown["structuredContent"] = {"news": news, **answer["structuredContent"]}
        return shown

    def _note(self, job_id: str, seq: int) -> None:
        with contextlib.suppress(UnhangError, OSError):
            news_cursor.note(attach(self._home, job_id), seq, os.environ)

    def _missed(self, key: object) -> list[tuple[str, str]]:
        """What this client was not told yet, the job and the sentence; it counts as told."""
        found = []
        with self._lock:
            for name, each in [item for item in self._followed.items() if item[0][0] == key]:
                try:
                    each.news.look()
                    news = each.news.take()
                    if news is not None:
                        news_cursor.note(each.news.job, news.seq, os.environ)
                        found.append((each.news.job.id, each.news.sentence(news)))
                except (UnhangError, OSError):
                    self._followed.pop(name, None)  # deleted
                if each.news.ended:
                    self._followed.pop(name, None)
        return found

    async def _run(self) -> None:
        """Look at the jobs as long as there are some, and notify."""
        thoroughly = time.monotonic() + _THOROUGHLY
        while any(not each.news.ended for each in self._followed.values()):
            await asyncio.sleep(_EVERY)
            late = time.monotonic() >= thoroughly
            thoroughly = time.monotonic() + _THOROUGHLY if late else thoroughly
            for each in await self._in_thread(self._look, late):
                news = each.news.untold
                if news is not None and not self._attended[each.news.job.id]:
                    each.notified = news.seq
                    await self._notify(each, news)

    def _look(self, thoroughly: bool) -> list[_Followed]:
        """Those of which something is to be told."""
        found = []
        with self._lock:
            for name, each in list(self._followed.items()):
                try:
                    each.news.look(thoroughly=thoroughly)
                except (UnhangError, OSError):
                    self._followed.pop(name, None)
                    continue
                news = each.news.untold
                if news is not None and news.seq > each.notified:
                    found.append(each)
        return found

    async def _notify(self, each: _Followed, news: News) -> None:
        text = await self._in_thread(each.news.sentence, news)
        data = {"message": values.visible_bytes(text), "taskId": each.news.job.id, "phase": news.kind, "seq": news.seq}
        with contextlib.suppress(Exception):  # the client may be gone; its next answer has the news
            await each.client.log(news.level, data)


def _told_of(structured: Any) -> Iterator[tuple[str, int]]:
    """Which jobs an answer tells of, and up to which event."""
    if not isinstance(structured, dict):
        return
    listed = structured.get("jobs")
    for each in [structured, *(listed if isinstance(listed, list) else [])]:
        seq = each.get("lastSeq", each.get("seq")) if isinstance(each, dict) else None
        if isinstance(seq, int) and isinstance(each.get("jobId"), str):
            yield each["jobId"], seq
