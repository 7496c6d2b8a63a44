"""The client's messages on stdin and ours on stdout, read and written by the event loop itself.

The SDK's transport gives each line to a thread and back, which costs a call more than everything else that the server
does for it. No descriptor is made non-blocking here: that flag would hold for every process that shares the pipe, the
client's own included. A read of what is readable does not block, nor does a write of a page to what is writable.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import select
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

_READ = 1 << 16
# What a pipe or a socket that can be written to takes without blocking, however little room it has.
_PAGE = 4096
# How much may wait for a client that does not read, before the next sender waits with it.
_MOST_WAITING = 1 << 16
# At the end: how long a client may take nothing of what is left for it, before it is not waited for any more.
_PATIENCE = 5.0


def claim_streams() -> tuple[MessageInput, MessageOutput]:
    """Take stdin and stdout for the protocol: from now on 0 is the null device and 1 is standard error.

    So neither a library that prints nor a process that we start comes between the messages.
    """
    heard, said = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in (0, 1))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(null, 1)
    os.close(null)
    output = MessageOutput(said)
    return MessageInput(heard, output), output


class _Stream:
    """As the SDK uses a stream: in an `async with` that closes it."""

    async def aclose(self) -> None:
        """Close the stream."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        await self.aclose()
        return None


class MessageOutput(_Stream):
    """Our messages, a line each. A message that was begun is sent whole, even if its sender is cancelled meanwhile."""

    def __init__(self, fd: int, patience: float = _PATIENCE) -> None:
        self.when_broken: Callable[[], None] | None = None  # called when nothing can be said any more
        self._fd = fd
        self._patience = patience
        self._waiting: deque[memoryview] = deque()
        self._size = 0  # of what waits
        self._sent = asyncio.Event()  # nothing waits
        self._sent.set()
        self._broken = False
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, or leave it to be sent as the client reads. Raises BrokenResourceError if it cannot be."""
        if self._broken:
            raise anyio.BrokenResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        self._waiting.append(memoryview(line))
        self._size += len(line)
        if self._sent.is_set():
            self._sent.clear()
            self._write()
        if self._size > _MOST_WAITING:
            await self._sent.wait()
        if self._broken:
            raise anyio.BrokenResourceError

    def _write(self) -> None:
        """Write as much as the client takes now; the rest when it takes more."""
        try:
            while self._waiting and self._poll.poll(0):
                line = self._waiting[0]
                done = os.write(self._fd, line[:_PAGE])
                self._size -= done
                if done == len(line):
                    self._waiting.popleft()
                else:
                    self._waiting[0] = line[done:]
        except OSError:  # the client is gone: nothing can be said to it any more
            self._broken = True
            self._waiting.clear()
            self._size = 0
            if self.when_broken is not None:
                self.when_broken()
        loop = asyncio.get_running_loop()
        if self._waiting:
            loop.add_writer(self._fd, self._write)
        else:
            loop.remove_writer(self._fd)
            self._sent.set()

    async def aclose(self) -> None:
        """Wait until everything is sent, or until the client reads no more of it."""
        while not self._sent.is_set():
            before = self._size
            with anyio.move_on_after(self._patience):
                await self._sent.wait()
            if self._size == before:
                return


class MessageInput(_Stream):
    """The messages of the client. A line that is no message is answered with an error; the SDK would ignore it.

    They end with our output, too: a client that does not hear the answers is gone, whoever holds its other pipe open.
    """

    def __init__(self, fd: int, output: MessageOutput) -> None:
        self._fd = fd
        self._output = output
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # of a line whose end has not come yet
        self._ended = False
        self._come: asyncio.Future[None] | None = None  # while there is nothing to read
        output.when_broken = self._end

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, after answering the lines before it that are none. Raises EndOfStream."""
        while True:
            line = await self._next_line()
            try:
                return SessionMessage(_message_of(line))
            except ValueError as error:
                with contextlib.suppress(anyio.BrokenResourceError):  # then this is the end
                    await self._output.send(SessionMessage(_refusal(error)))

    async def _next_line(self) -> bytes:
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            await self._readable()
            if not self._ended:  # it may be the output that ended, with nothing to read
                self._take(self._read())
        return self._lines.popleft()

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _READ)
        except OSError:  # a terminal that is gone, a connection that was reset
            return b""

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
            last = b"".join(self._begun)
            if last:
                self._lines.append(last)
            return
        first, *others = chunk.split(b"\n")
        self._begun.append(first)
        for rest in others:
            self._lines.append(b"".join(self._begun))
            self._begun = [rest]

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        come = self._come = loop.create_future()
        try:
            loop.add_reader(self._fd, _done, come)
        except PermissionError:  # a file or the null device, which never blocks
            await asyncio.sleep(0)
            return
        try:
            await come
        finally:
            loop.remove_reader(self._fd)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Read no further."""
        self._end()

    def _end(self) -> None:
        self._ended = True
        self._lines.clear()
        if self._come is not None:
            _done(self._come)


def _done(come: asyncio.Future[None]) -> None:
    if not come.done():
        come.set_result(None)


def _message_of(line: bytes) -> JSONRPCMessage:
    """Raises ValueError for a line that is no message."""
    # as the SDK reads them: bytes that are no UTF-8 are replaced, and may stand in a text
    text = line.decode("utf-8", "replace")
    found = jsonrpc_message_adapter.validate_json(text, by_name=False)
    # a request with an id that the protocol does not know (1.0, say) passes for a notification, and its client waits
    if isinstance(found, JSONRPCNotification) and json.loads(text).get("id") is not None:
        raise ValueError("an id is a whole number or a text")
    return found


def _refusal(found: ValueError) -> JSONRPCError:
    """The answer to a line that is no message; its id cannot be known, and is null as in JSON-RPC."""
    broken = isinstance(found, ValidationError) and any(e["type"] == "json_invalid" for e in found.errors())
    code, message = (PARSE_ERROR, "Parse error") if broken else (INVALID_REQUEST, "Invalid request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
