"""The same server through the official SDK, which speaks HTTP: its contexts become our calls, its hooks our methods."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    EmptyResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    Resource,
    SetLevelRequestParams,
    SubscribeRequestParams,
    Tool,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from unhang.errors import UnhangError
from unhang.faces.mcp import resources
from unhang.faces.mcp.call import McpCall, McpClient
from unhang.faces.mcp.disconnect import gone_of
from unhang.faces.mcp.identity import INFO, INSTRUCTIONS
from unhang.faces.mcp.notifications import LOGGER
from unhang.faces.mcp.protocol import INVALID_PARAMS, TASKS_EXTENSION, ProtocolError, reaches
from unhang.faces.mcp.resources import MOST_SUBSCRIPTIONS, too_many_subscriptions
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.threads import MOST_THREADS

_Answer = TypeVar("_Answer")
_LEVEL_KEY, _SUBSCRIBED_KEY = "unhang.level", "unhang.subscribed"


class SdkThreads:
    """Threads for tasks that are cancelled as anyio does it: again and again, until their scope is left."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def finish(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is not abandoned when the call is cancelled."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MOST_THREADS)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def loose(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is abandoned when the call is cancelled."""
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    async def shielded(self, work: Awaitable[_Answer]) -> _Answer:
        """Wait for something to its end although the call is cancelled."""
        scope = anyio.CancelScope(shield=True)
        with scope:
            answer = await work
        return answer  # noqa: RET504 - for the type checker, a scope may swallow what it cancels


class SdkClient:
    """The client of a connection of the SDK's."""

    def __init__(self, session: Any) -> None:
        self._connection = session._connection
        client = session.client_params
        modern = self._connection.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.name = client.client_info.name if client is not None and client.client_info is not None else ""
        self.key: object = self.name if modern else self._connection

    def wants(self, level: str) -> bool:
        """Return whether the level of `logging/setLevel` lets this one through.

        The SDK itself applies the modern era's.
        """
        return reaches(level, self._connection.state.get(_LEVEL_KEY, "debug"))

    async def log(self, level: str, data: dict[str, Any]) -> None:
        """Send a log message between calls; the SDK drops it in the modern era, which has none."""
        if self.wants(level):
            await _without_warnings(partial(self._connection.log, level, data, LOGGER))


class SdkCall:
    """A call of a tool that came in through the SDK."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._ctx = ctx
        self._client = SdkClient(ctx.session)
        self.client: McpClient = self._client
        self.client_name = self._client.name
        self.meta: Mapping[str, Any] = ctx.meta or {}
        capabilities = ctx.session.client_capabilities
        self.extensions: Mapping[str, Any] = (capabilities.extensions if capabilities else None) or {}
        self.gone: asyncio.Event | None = gone_of(ctx.request)
        headers = getattr(ctx.request, "headers", None)
        self.named: str | None = headers.get("mcp-name") if headers is not None else None

    async def progress(self, value: float, total: float | None, message: str) -> None:
        """Report progress, if the client has asked for it."""
        await self._ctx.session.report_progress(value, total, message)

    async def log(self, level: str, data: Any) -> None:
        """Send a log message of this call, if the client wants its level."""
        if self._client.wants(level):
            send: Any = self._ctx.session.send_log_message
            await _without_warnings(
                partial(send, level=level, data=data, logger=LOGGER, related_request_id=self._ctx.request_id)
            )


async def _without_warnings(begin: Callable[[], Awaitable[None]]) -> None:
    """Log messages are deprecated as of 2026-07-28, with a year's window; clients show them until then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sending = begin()
    await sending


class _Task(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class _Update(_Task):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class ToolCalls(Extension):
    """The tools and the tasks of our server, as an extension of the SDK's: it is asked before each call of a tool."""

    identifier = TASKS_EXTENSION

    def __init__(self, server: Server) -> None:
        self.server = server

    def methods(self) -> Sequence[MethodBinding]:
        """Return the methods of the extension. Called by the SDK."""
        return (
            MethodBinding("tasks/get", _Task, partial(self._task, self.server.tasks.get)),
            MethodBinding("tasks/update", _Update, partial(self._task, self.server.tasks.update)),
            MethodBinding("tasks/cancel", _Task, partial(self._task, self.server.tasks.cancel)),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Call one of our tools. Called by the SDK, which has none of its own."""
        del call_next
        with _errors_of_the_sdk():
            return complete(await self.server.call_tool(SdkCall(ctx), params.name, dict(params.arguments or {})))

    async def _task(
        self,
        method: Callable[[McpCall, dict[str, Any]], Awaitable[dict[str, Any]]],
        ctx: ServerRequestContext[Any, Any],
        params: _Task,
    ) -> dict[str, Any]:
        with _errors_of_the_sdk():
            return await method(SdkCall(ctx), params.model_dump(by_alias=True))


def complete(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool as the modern era has it; the SDK takes out what the handshake era has not."""
    return {"resultType": "complete", **answer}


@contextlib.contextmanager
def _errors_of_the_sdk() -> Any:
    try:
        yield
    except ProtocolError as error:
        raise MCPError(code=error.code, message=error.message, data=error.data) from None


class Bus(InMemorySubscriptionBus):
    """A subscription bus that hears of changed jobs while it has a listener."""

    def __init__(self, updates: resources.Updates) -> None:
        super().__init__()
        self._updates = updates
        self._leave: Callable[[], None] | None = None

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add a listener of the modern era, and return the function that removes it."""
        unsubscribe = super().subscribe(listener)
        if self._leave is None:
            self._leave = self._updates.listen(self._tell)

        def leave() -> None:
            unsubscribe()
            if not self._listeners and self._leave is not None:
                self._leave()
                self._leave = None

        return leave

    async def _tell(self, uri: str) -> None:
        await self.publish(ResourceUpdated(uri=uri))


def build(server: Server, extension: ToolCalls | None = None) -> MCPServer[Any]:
    """Return the server as the SDK serves it. `extension`: one that offers more tools than ours."""
    bus = Bus(server.updates)
    found: MCPServer[Any] = MCPServer(
        INFO["name"],
        title=INFO["title"],
        description=INFO["description"],
        instructions=INSTRUCTIONS,
        version=INFO["version"],
        log_level="ERROR",
        extensions=[extension or ToolCalls(server)],
        subscriptions=bus,
    )
    _offer_resources(found, server)
    low = found._lowlevel_server

    async def list_tools(_: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        ours = [Tool.model_validate(each) for each in server.list_tools()]
        return ListToolsResult(tools=[*ours, *await found.list_tools()])

    # the SDK has no public way to serve tools with schemas of their own, nor this method of the handshake era
    low.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, _set_level)
    return found


async def _set_level(ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> EmptyResult:
    # the SDK neither keeps nor applies it
    ctx.session._connection.state[_LEVEL_KEY] = params.level
    return EmptyResult()


def _offer_resources(found: MCPServer[Any], server: Server) -> None:
    backend, updates = server.backend, server.updates
    for template in resources.TEMPLATES:
        found.resource(template.uri, name=template.name, title=template.title, mime_type=template.mime_type)(
            _reader(server, template.name)
        )

    async def list_all(_: ServerRequestContext[Any, Any], __: PaginatedRequestParams | None) -> ListResourcesResult:
        ours = [Resource.model_validate(each) for each in await backend.in_thread(resources.list_jobs, backend)]
        return ListResourcesResult(resources=[*await found.list_resources(), *ours])

    async def subscribe(ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams) -> EmptyResult:
        connection: Any = ctx.session._connection
        held = _subscriptions_of(connection)
        uri = str(params.uri)
        if uri not in held:
            if len(held) >= MOST_SUBSCRIPTIONS:
                raise MCPError(code=INVALID_PARAMS, message=too_many_subscriptions(len(held)))
            held[uri] = updates.listen(connection.send_resource_updated, frozenset({uri}))
        return EmptyResult()

    async def unsubscribe(ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams) -> EmptyResult:
        _subscriptions_of(ctx.session._connection).pop(str(params.uri), lambda: None)()
        return EmptyResult()

    # the SDK has no public way to serve a list that changes, nor the subscriptions of the handshake era
    low = found._lowlevel_server
    low.add_request_handler("resources/list", PaginatedRequestParams, list_all)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)


def _subscriptions_of(connection: Any) -> dict[str, Callable[[], None]]:
    """What a session of the handshake era has subscribed to, with what ends it; its end ends all."""
    found: dict[str, Callable[[], None]] | None = connection.state.get(_SUBSCRIBED_KEY)
    if found is not None:
        return found
    held: dict[str, Callable[[], None]] = {}
    connection.state[_SUBSCRIBED_KEY] = held

    def leave_all() -> None:
        for leave in held.values():
            leave()

    connection.exit_stack.callback(leave_all)
    return held


def _reader(server: Server, name: str) -> Callable[[str], Awaitable[str]]:
    async def read(job_id: str) -> str:
        backend = server.backend
        try:
            return await backend.in_thread(resources.read_part, backend, backend.job(job_id), name)
        except UnhangError as error:
            raise ResourceNotFoundError(str(error)) from None

    return read
