"""Jobs as resources: `unhang://jobs/{id}`, its stdout, stderr and events, with updates for those who listen.

Updates cost something only while a client listens: one task looks at the running jobs once a second.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from unhang.core import plain_text, values
from unhang.core.record import Record
from unhang.errors import UnhangError
from unhang.faces.mcp import result
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.protocol import INVALID_PARAMS, ProtocolError
from unhang.faces.mcp.text import in_tool_words
from unhang.jobs import listing
from unhang.jobs.handle import Job

SCHEME = "unhang://jobs/"
PARTS = ("", "/stdout", "/stderr", "/events")
_MOST = 100
# The subscriptions that one client may hold.
MOST_SUBSCRIPTIONS = 256
_EVERY = 1.0
_TAIL = 64 << 10

Tell = Callable[[str], Awaitable[None]]


class Template(Record):
    """One kind of resource that every job has."""

    name: str
    part: str
    title: str
    mime_type: str

    @property
    def uri(self) -> str:
        """Return the address, with a gap for the job."""
        return f"{SCHEME}{{job_id}}{self.part}"

    def to_json(self) -> dict[str, Any]:
        """Return the template as a list shows it."""
        return {"name": self.name, "title": self.title, "uriTemplate": self.uri, "mimeType": self.mime_type}


TEMPLATES = (
    Template("job", "", "A job and its result", "application/json"),
    Template("stdout", "/stdout", "The end of its stdout", "text/plain"),
    Template("stderr", "/stderr", "The end of its stderr", "text/plain"),
    Template("events", "/events", "Its events", "application/x-ndjson"),
)


def list_jobs(backend: Backend) -> list[dict[str, Any]]:
    """Return the newest jobs as resources."""
    return [
        {
            "uri": f"{SCHEME}{row.id}",
            "name": row.id,
            "title": plain_text.one_line(row.command, 80),
            "description": f"{row.status}: {plain_text.quoted(row.command, 200)}",
            "mimeType": "application/json",
        }
        for row in listing.list_jobs(backend.home)[:_MOST]
    ]


def read(backend: Backend, uri: str) -> dict[str, Any]:
    """Return the contents of a resource. Raises ProtocolError if there is none of this address."""
    name, slash, part = uri.removeprefix(SCHEME).partition("/")
    found = [each for each in TEMPLATES if each.part == slash + part]
    if not uri.startswith(SCHEME) or not name or not found:
        raise ProtocolError(INVALID_PARAMS, f"Unknown resource: {uri}", {"uri": uri})
    try:
        text = read_part(backend, backend.job(name), found[0].name)
    except UnhangError as error:
        raise ProtocolError(INVALID_PARAMS, str(error), {"uri": uri}) from None
    return {"uri": uri, "mimeType": found[0].mime_type, "text": values.visible_bytes(text)}


def read_part(backend: Backend, job: Job, name: str) -> str:
    """Return the text of one resource of a job, by the name of its template."""
    if name == "job":
        return values.dump(result.result_of(job, backend.settings))
    if name == "events":
        return "".join(values.dump(in_tool_words(event, job.id)) + "\n" for event in job.events())
    return job.tail(name, _TAIL)


def too_many_subscriptions(held: int) -> str:
    """Return why another subscription is refused."""
    return f"{held} subscriptions are the most that a client may hold: end some first"


class Updates:
    """Tells of changed jobs: everyone who listens of those resources that it has named."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._listeners: dict[object, tuple[frozenset[str] | None, Tell]] = {}
        self._task: asyncio.Task[None] | None = None

    def listen(self, tell: Tell, uris: frozenset[str] | None = None) -> Callable[[], None]:
        """Call `tell` with the address of each of these resources that changes, and return what ends that.

        Without addresses: of every resource.
        """
        key = object()
        self._listeners[key] = (uris, tell)
        self._wake()

        def leave() -> None:
            self._listeners.pop(key, None)

        return leave

    def _wake(self) -> None:
        """Start the task that looks for changes, unless it runs."""
        if self._task is None or self._task.done():
            # before the subscription is acknowledged: each running job is announced once, so that no change is missed
            rows = listing.list_jobs(self._backend.home, running_only=True)
            self._task = asyncio.get_running_loop().create_task(self._run({row.id: -1 for row in rows}))

    async def _run(self, seen: dict[str, int]) -> None:
        while self._listeners:
            await asyncio.sleep(_EVERY)
            now = await self._backend.in_thread(self._look, seen)
            for job in [name for name, seq in now.items() if seen.get(name) != seq]:
                for part in PARTS:
                    await self._changed(f"{SCHEME}{job}{part}")
            seen = now

    def _look(self, known: dict[str, int]) -> dict[str, int]:
        """Return the number of the last event of each running job, and of each that has ended since the last look."""
        running = {row.id for row in listing.list_jobs(self._backend.home, running_only=True)}
        found: dict[str, int] = {}
        for name in running.union(known):
            with contextlib.suppress(UnhangError, OSError):  # removed meanwhile
                seq = self._backend.job(name).last_seq()
                if name in running or seq != known[name]:
                    found[name] = seq
        return found

    async def _changed(self, uri: str) -> None:
        for uris, tell in list(self._listeners.values()):
            if uris is None or uri in uris:
                with contextlib.suppress(Exception):  # one that is gone does not silence the others
                    await tell(uri)
