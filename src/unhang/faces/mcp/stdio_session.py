"""One client on a pair of pipes: its requests are served side by side, each in a task that it can cancel."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from unhang.faces.mcp import protocol
from unhang.faces.mcp.call import McpClient
from unhang.faces.mcp.identity import IDENTITY
from unhang.faces.mcp.notifications import LOGGER
from unhang.faces.mcp.protocol import (
    LEVELS,
    Caller,
    McpCancel,
    McpConversation,
    McpRequest,
    ProtocolError,
    RequestId,
    Serve,
    reaches,
)
from unhang.faces.mcp.resources import MOST_SUBSCRIPTIONS, too_many_subscriptions
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.stdio_ends import LONGEST_LINE
from unhang.faces.mcp.stdio_streams import ClientGone, LineInput, LineOutput, LineTooLong

# What a client that reads nothing may leave unread of one subscription, before that is ended.
_MOST_UPDATES = 1024
# The requests in flight beside those that may last. With more, nothing is read until some are answered.
_MOST_SHORT = 256
# With so many in flight, they get a turn before the next one is read.
_MANY = 32
# How often a client that is not read from is looked at: it may read again, or be gone.
_LOOK_EVERY = 0.2
# At the end the calls in flight are cancelled; one that takes longer is not waited for.
_PATIENCE = 1.0
_CHANGES = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class StdioSession:
    """The client of a server on stdio."""

    def __init__(self, server: Server, output: LineOutput, conversation: McpConversation | None = None) -> None:
        """`conversation`: one that has begun (greeter.py)."""
        self.gone = asyncio.Event()  # the client has left, with calls in flight perhaps
        self.level = LEVELS[0]  # of the log messages that a client of the handshake era wants
        self._server = server
        self._output = output
        self._conversation = conversation or McpConversation(IDENTITY)
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        self._told: set[asyncio.Task[None]] = set()  # those of them whose answer is on its way
        self._in_flight = 0  # more than `_tasks` has, if a client uses an id twice
        self._answered = asyncio.Event()  # a request, since this was last cleared
        self._most_in_flight = server.backend.settings.max_calls + MOST_SUBSCRIPTIONS + _MOST_SHORT
        self._subscribed: dict[str, Callable[[], None]] = {}  # of the handshake era: uri → what ends it
        self._listening = 0  # subscriptions of the modern era

    async def run(self, lines: LineInput) -> None:
        """Serve until the client is gone; what it still waits for is then told that this is the end."""
        self._output.watch()
        try:
            while await self._has_room(lines):
                with contextlib.suppress(ClientGone):  # then this is the end
                    try:
                        line = await lines.next()
                    except LineTooLong:
                        self._leave(protocol.error_message(None, _TOO_LONG))
                        continue
                    if line is None:
                        return
                    self._take(line)
        finally:
            self._output.unwatch()
            self.gone.set()
            for leave in self._subscribed.values():
                leave()
            left = list(self._tasks.items())
            for _, task in left:
                task.cancel()
            if left:
                await asyncio.wait([task for _, task in left], timeout=_PATIENCE)
            closed = ProtocolError(protocol.CONNECTION_CLOSED, "Connection closed")
            with contextlib.suppress(ClientGone):
                unanswered = [number for number, task in left if task not in self._told]
                for number in unanswered:  # without a wait: the client may read no more, and `close` bounds that
                    self._leave(protocol.error_message(number, closed))

    async def _has_room(self, lines: LineInput) -> bool:
        """Wait until the client has read some of its answers; False: it has hung up without that."""
        if self._in_flight >= _MANY:
            await asyncio.sleep(0)
        while self._output.full or self._in_flight >= self._most_in_flight:
            if lines.hung_up:
                return False
            self._answered.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _LOOK_EVERY)
        return True

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises ClientGone."""
        await self._output.send(protocol.encode(message))

    def _leave(self, message: dict[str, Any]) -> None:
        """Send a message without a wait for a client that does not read: its end is to be seen. Raises ClientGone."""
        self._output.leave(protocol.encode(message))

    def _take(self, line: bytes) -> None:
        found = self._conversation.hear(line)
        if isinstance(found, Serve):
            self._begin(found)
        elif isinstance(found, McpCancel):
            self._cancel(found.id)
        elif found is not None:
            self._leave(found)

    def _cancel(self, number: RequestId) -> None:
        # some clients send an id back as a text
        same = [each for each in self._tasks if each == number] or [each for each in self._tasks if str(each) == number]
        for each in same:
            self._tasks.pop(each).cancel()

    def _begin(self, step: Serve) -> None:
        request = step.request
        task = asyncio.get_running_loop().create_task(self._answer(step))
        self._tasks[request.id] = task
        self._in_flight += 1
        task.add_done_callback(lambda done: self._forget(request.id, done))

    def _forget(self, number: RequestId, task: asyncio.Task[None]) -> None:
        self._in_flight -= 1
        if not self.gone.is_set():  # at the end it is asked for
            self._told.discard(task)
        self._answered.set()
        if self._tasks.get(number) is task:  # and not a later one of the same id
            del self._tasks[number]

    async def _answer(self, step: Serve) -> None:
        request = step.request
        try:
            result = await self._serve(step)
            message = self._conversation.answer(step, result)
        except ProtocolError as error:
            message = protocol.error_message(request.id, error)
        except ClientGone:
            return
        except Exception:
            traceback.print_exc(file=sys.stderr)
            failed = ProtocolError(protocol.INTERNAL_ERROR, "Internal server error")
            message = protocol.error_message(request.id, failed)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return  # its last step was not abandoned (threads.py), but the answer is not wanted any more
        if task is not None:
            self._told.add(task)
        with contextlib.suppress(ClientGone):
            await self.send(message)

    async def _serve(self, step: Serve) -> dict[str, Any]:
        method, params = step.request.method, step.request.params
        match method:
            case "logging/setLevel":
                self.level = params["level"]
            case "resources/subscribe":
                self._subscribe(params["uri"])
            case "resources/unsubscribe":
                self._subscribed.pop(params["uri"], lambda: None)()
            case "subscriptions/listen":
                return await self._listen(step.request)
            case _:
                return await self._server.serve(StdioCall(self, step), method, params)
        return {}

    # --- subscriptions --------------------------------------------------------------------------------------------

    def _subscribe(self, uri: str) -> None:
        async def tell(changed: str) -> None:
            with contextlib.suppress(ClientGone):
                await self.send(protocol.notification("notifications/resources/updated", {"uri": changed}))

        if uri not in self._subscribed:
            _check_subscriptions(len(self._subscribed))
            self._subscribed[uri] = self._server.updates.listen(tell, frozenset({uri}))

    async def _listen(self, request: McpRequest) -> dict[str, Any]:
        """A subscription of the modern era: it lasts until the client cancels it."""
        asked = request.params["notifications"]
        uris = asked.get("resourceSubscriptions") or []
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise protocol.invalid_params("resourceSubscriptions must be a list of texts")
        _check_subscriptions(self._listening)
        meta = {protocol.SUBSCRIPTION_KEY: request.id}
        changes: asyncio.Queue[str] = asyncio.Queue(_MOST_UPDATES)
        full = asyncio.Event()

        async def tell(changed: str) -> None:
            try:
                changes.put_nowait(changed)
            except asyncio.QueueFull:
                full.set()

        honoured: dict[str, Any] = {name: True for name in _CHANGES if asked.get(name) is True}
        honoured |= {"resourceSubscriptions": uris} if uris else {}
        leave = self._server.updates.listen(tell, frozenset(uris))
        self._listening += 1
        try:
            method = "notifications/subscriptions/acknowledged"
            await self.send(protocol.notification(method, {"notifications": honoured, "_meta": meta}))
            while not full.is_set():
                changed = {"uri": await changes.get(), "_meta": meta}
                await self.send(protocol.notification("notifications/resources/updated", changed))
        finally:
            self._listening -= 1
            leave()
        return {"_meta": meta}


_TOO_LONG = ProtocolError(protocol.INVALID_REQUEST, f"Invalid request: a line has more than {LONGEST_LINE >> 20} MiB")


def _check_subscriptions(held: int) -> None:
    if held >= MOST_SUBSCRIPTIONS:
        raise protocol.invalid_params(too_many_subscriptions(held))


class StdioClient:
    """The client of a session, to be told something between calls."""

    def __init__(self, session: StdioSession, caller: Caller) -> None:
        self._session = session
        self._modern = caller.modern
        self.key: object = caller.name if caller.modern else id(session)

    async def log(self, level: str, data: dict[str, Any]) -> None:
        """Send a log message between calls; the modern era has none."""
        if not self._modern and reaches(level, self._session.level):
            await self._session.send(log_message(level, data))


class StdioCall:
    """A call of a tool on stdio."""

    named = None  # there are no headers on a pipe

    def __init__(self, session: StdioSession, step: Serve) -> None:
        params = step.request.params
        meta = params.get("_meta")
        self.meta: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
        self.client: McpClient = StdioClient(session, step.caller)
        self.client_name = step.caller.name
        self.gone: asyncio.Event | None = session.gone
        self._session = session
        self._token = protocol.progress_token(params)
        declared = step.caller.capabilities.get("extensions") if step.caller.modern else None
        self.extensions: Mapping[str, Any] = declared if isinstance(declared, dict) else {}
        self._level = self.meta.get(protocol.LEVEL_KEY) if step.caller.modern else session.level

    async def progress(self, value: float, total: float | None, message: str) -> None:
        """Report progress, if the client has asked for it."""
        if self._token is None:
            return
        params = {"progressToken": self._token, "progress": value, "message": message}
        if total is not None:
            params["total"] = total
        with contextlib.suppress(ClientGone):  # the end of the session ends the call
            await self._session.send(protocol.notification("notifications/progress", params))

    async def log(self, level: str, data: Any) -> None:
        """Send a log message of this call, if the client wants its level: in the modern era, if the call says so."""
        if self._level in LEVELS and reaches(level, str(self._level)):
            with contextlib.suppress(ClientGone):
                await self._session.send(log_message(level, data))


def log_message(level: str, data: Any) -> dict[str, Any]:
    """Return a log message of ours."""
    return protocol.notification("notifications/message", {"level": level, "logger": LOGGER, "data": data})
