"""Event streams: what has changed, as it changes. The number of the last event is its id, so a browser that comes back
says where it was, and gets what it has missed.

A stream costs a number and what the kernel buffers; there is a bound on how many there are, and a reader that takes
nothing for a while is let go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unhang.core import values
from unhang.errors import UnhangError
from unhang.faces.web.api import MOST_EVENTS, Desk, json_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from unhang.faces.web.live import Live

MOST_STREAMS = 200
# A line now and then shows both ends that the other one lives.
_BEAT = 15.0
# How long a browser may take nothing before it is let go; it comes back by itself.
PATIENCE = 30.0
_HEAD = b"retry: 1000\n\n"
_BEAT_LINE = b"event: beat\ndata: {}\n\n"


class EventStreamResponse(Response):
    """Sends what an iterator yields until the browser leaves, or has not read for `PATIENCE` seconds."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(None, 200, {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, "text/event-stream")
        del self.headers["content-length"]
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        try:
            await sending
        except asyncio.CancelledError:
            pass  # the browser has left

    async def _send(self, send: Send) -> None:
        try:
            async for chunk in self._chunks:
                async with asyncio.timeout(PATIENCE):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, OSError):
            return


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Streams:
    """The handlers of the two routes that stream."""

    def __init__(self, desk: Desk, live: Live, instance: str) -> None:
        self._desk = desk
        self._live = live
        self._instance = instance  # revisions of an earlier start mean nothing to this one

    async def overview(self, request: Request) -> Response:
        """GET /api/stream: the overview, then what changes."""
        if self._live.viewers >= MOST_STREAMS:
            return _full()
        instance, _, revision = request.headers.get("last-event-id", "").rpartition(".")
        readable = revision.isdecimal() and len(revision) < 18
        known = int(revision) if instance == self._instance and readable else -1
        return EventStreamResponse(self._overview(known))

    async def _overview(self, known: int) -> AsyncIterator[bytes]:
        with self._live as live:
            yield _HEAD
            while not live.ended:
                newest = await live.newer(known, _BEAT)
                if newest is None or newest.revision == known:
                    yield _BEAT_LINE
                    continue
                data = live.written(newest, known)
                known = newest.revision
                yield b"id: %s.%d\nevent: overview\ndata: %s\n\n" % (self._instance.encode(), known, data)

    async def job(self, request: Request) -> Response:
        """GET /api/jobs/ID/stream: the entry of a job when it changes, and its events, each with its number as id."""
        if self._live.viewers >= MOST_STREAMS:
            return _full()
        try:
            job_id = await run_in_threadpool(self._desk.find, request.path_params["job"])
        except UnhangError as error:
            return json_response({"error": str(error)}, 404)
        given = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        after = int(given) if given.isdecimal() and len(given) < 18 else 0
        return EventStreamResponse(self._job(job_id, after))

    async def _job(self, job_id: str, after: int) -> AsyncIterator[bytes]:
        with self._live as live:
            yield _HEAD
            known, shown = -1, None
            while not live.ended:
                newest = await live.newer(known, _BEAT)
                if newest is None or newest.revision == known:
                    yield _BEAT_LINE
                    continue
                known, entry = newest.revision, newest.entries.get(job_id)
                if entry is not shown or shown is None:
                    shown = entry
                    message = {"atMs": newest.at_ms, "entry": entry, "counts": newest.counts()}
                    yield b"event: job\ndata: %s\n\n" % values.dump(message, compact=True).encode()
                while entry is None or after < entry["seq"]:
                    try:
                        events = await run_in_threadpool(self._desk.events, job_id, after, MOST_EVENTS)
                    except (UnhangError, OSError):
                        return  # it was removed; the page says so when it comes back
                    if not events:
                        break
                    for event in events:
                        after = event["seq"]
                        yield b"id: %d\nevent: event\ndata: %s\n\n" % (after, values.dump(event, compact=True).encode())


def _full() -> Response:
    answer = json_response({"error": f"more than {MOST_STREAMS} pages are open"}, 503)
    answer.headers["Retry-After"] = "5"
    return answer
