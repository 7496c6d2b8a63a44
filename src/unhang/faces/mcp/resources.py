"""Jobs as resources: `unhang://jobs/{id}`, its stdout, stderr and events, with updates for subscribers.

Updates cost something only while a client listens: one task looks at the running jobs once a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp_types import (
    EmptyResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Resource,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from unhang.core import plain_text, values
from unhang.errors import UnhangError
from unhang.faces.mcp import result
from unhang.faces.mcp.backend import Backend
from unhang.jobs import listing
from unhang.jobs.handle import Job

SCHEME = "unhang://jobs/"
PARTS = ("", "/stdout", "/stderr", "/events")
_MOST = 100
_EVERY = 1.0
_TAIL = 64 << 10


class Bus(InMemorySubscriptionBus):
    """A subscription bus that starts the updates with its first listener."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.updates = Updates(backend, self)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener of the modern era, and return the function that removes it."""
        leave = super().subscribe(listener)
        self.updates.wake()
        return leave

    @property
    def heard(self) -> bool:
        """Whether there is a listener."""
        return bool(self._listeners)


class Updates:
    """Reports changed jobs to the listeners of the modern era and to the subscribers of the handshake era."""

    def __init__(self, backend: Backend, bus: Bus) -> None:
        self._backend = backend
        self._bus = bus
        self._sessions: dict[str, dict[int, Any]] = {}  # uri → sessions that want to know
        self._task: asyncio.Task[None] | None = None

    def add(self, uri: str, session: Any) -> None:
        """Report changes of this resource to the connection of a session."""
        connection = session._connection
        self._sessions.setdefault(uri, {})[id(connection)] = connection
        self.wake()

    def drop(self, uri: str, session: Any) -> None:
        """Stop reporting changes of this resource to the connection of a session."""
        self._sessions.get(uri, {}).pop(id(session._connection), None)
        self._sessions = {name: found for name, found in self._sessions.items() if found}

    def wake(self) -> None:
        """Start the task that looks for changes, unless it runs."""
        if self._task is None or self._task.done():
            # before the subscription is acknowledged: each running job is announced once, so that no change is missed
            rows = listing.list_jobs(self._backend.home, running_only=True)
            self._task = asyncio.get_running_loop().create_task(self._run({row.id: -1 for row in rows}))

    async def _run(self, seen: dict[str, int]) -> None:
        while self._sessions or self._bus.heard:
            await asyncio.sleep(_EVERY)
            now = await self._backend.in_thread(self._look, seen)
            for job in [name for name, seq in now.items() if seen.get(name) != seq]:
                for part in PARTS:
                    await self._changed(f"{SCHEME}{job}{part}")
            seen = now

    def _look(self, known: dict[str, int]) -> dict[str, int]:
        """Return the number of the last event of each running job, and of each job that ran at the last look."""
        rows = listing.list_jobs(self._backend.home, running_only=True)
        jobs = {row.id: self._backend.job(row.id) for row in rows}
        for name in known:
            if name not in jobs:
                try:
                    jobs[name] = self._backend.job(name)
                except UnhangError:
                    continue  # removed meanwhile
        return {name: job.last_seq() for name, job in jobs.items()}

    async def _changed(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri=uri))
        for connection in list(self._sessions.get(uri, {}).values()):
            await connection.send_resource_updated(uri)


def register(server: MCPServer[Any], backend: Backend, bus: Bus) -> None:
    """Offer the resources of this file."""

    async def job(job_id: str) -> str:
        found = _find(backend, job_id)
        return values.dump(await backend.in_thread(result.result_of, found, backend.settings))

    async def stdout(job_id: str) -> str:
        return await backend.in_thread(_find(backend, job_id).tail, "stdout", _TAIL)

    async def stderr(job_id: str) -> str:
        return await backend.in_thread(_find(backend, job_id).tail, "stderr", _TAIL)

    async def events(job_id: str) -> str:
        found = await backend.in_thread(_find(backend, job_id).events)
        return "".join(values.dump(event) + "\n" for event in found)

    base = f"{SCHEME}{{job_id}}"
    server.resource(base, name="job", title="A job and its result", mime_type="application/json")(job)
    server.resource(f"{base}/stdout", name="stdout", title="The end of its stdout", mime_type="text/plain")(stdout)
    server.resource(f"{base}/stderr", name="stderr", title="The end of its stderr", mime_type="text/plain")(stderr)
    server.resource(f"{base}/events", name="events", title="Its events", mime_type="application/x-ndjson")(events)

    async def list_all(_: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListResourcesResult:
        rows = await backend.in_thread(listing.list_jobs, backend.home)
        fixed = await server.list_resources()
        jobs = [
            Resource(
                uri=f"{SCHEME}{row.id}",
                name=row.id,
                title=plain_text.one_line(row.command, 80),
                description=f"{row.status}: {plain_text.quoted(row.command, 200)}",
                mime_type="application/json",
            )
            for row in rows[:_MOST]
        ]
        return ListResourcesResult(resources=[*fixed, *jobs])

    async def subscribe(ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        bus.updates.add(str(params.uri), ctx.session)
        return EmptyResult()

    async def unsubscribe(ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams) -> EmptyResult:
        bus.updates.drop(str(params.uri), ctx.session)
        return EmptyResult()

    # the SDK has no public way to serve a list that changes, nor the subscriptions of the handshake era
    low = server._lowlevel_server
    low.add_request_handler("resources/list", PaginatedRequestParams, list_all)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)


def _find(backend: Backend, name: str) -> Job:
    try:
        return backend.job(name)
    except UnhangError as error:
        raise ResourceNotFoundError(str(error)) from None
