"""Serves MCP on stdin and stdout. The server ends at end of file, or when the process of its client dies."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from types import TracebackType
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from unhang.errors import EXIT_INTERRUPTED
from unhang.faces.mcp.backend import Backend
from unhang.jobs.client_process import open_client

# After the end of our input the calls in flight are cancelled; one that takes longer is not waited for.
_PATIENCE = 1.0


def serve(server: MCPServer[Any], backend: Backend) -> int:
    """Serve the client on stdin and stdout until it is gone."""
    anyio.run(_serve, server, backend)
    backend.close()
    return 0


async def _serve(server: MCPServer[Any], backend: Backend) -> None:
    loop = asyncio.get_running_loop()
    watched = open_client()
    if watched is None:
        _leave(backend)
    for fd in watched or []:
        loop.add_reader(fd, _leave, backend)
    loop.add_signal_handler(signal.SIGINT, _leave, backend, EXIT_INTERRUPTED)
    try:
        async with stdio_server() as (heard, said):
            low = server._lowlevel_server
            await low.run(CheckedInput(heard, said), said, low.create_initialization_options())
    finally:
        for fd in watched or []:
            loop.remove_reader(fd)
            os.close(fd)
        late = threading.Timer(_PATIENCE, _leave, [backend])
        late.daemon = True
        late.start()


def _leave(backend: Backend, code: int = 0) -> None:
    """Exit at once: a thread may be blocked in a read of stdin that never returns. The lease ends what is left."""
    backend.close()
    os._exit(code)


class CheckedInput:
    """The messages of the client. A line that is no message is answered with an error; the SDK would ignore it."""

    def __init__(self, heard: ReadStream[SessionMessage | Exception], said: WriteStream[SessionMessage]) -> None:
        self._heard = heard
        self._said = said

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, after answering the lines before it that are none."""
        while True:
            found = await self._heard.receive()
            if not isinstance(found, Exception):
                return found
            await self._said.send(SessionMessage(_refusal(found)))

    def __aiter__(self) -> CheckedInput:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the stream of messages."""
        await self._heard.aclose()

    async def __aenter__(self) -> CheckedInput:
        await self._heard.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._heard.__aexit__(kind, value, trace)


def _refusal(found: Exception) -> JSONRPCError:
    """The answer to a line that is no message; its id cannot be known, and is null as in JSON-RPC."""
    broken = isinstance(found, ValidationError) and any(e["type"] == "json_invalid" for e in found.errors())
    code, message = (PARSE_ERROR, "Parse error") if broken else (INVALID_REQUEST, "Invalid request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
