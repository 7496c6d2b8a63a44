"""The stdio way in. The server ends with its client, however that goes: end of file, or the death of its parent.

A wrapper (npx, sh -c, uvx …) may hold the other end of our stdin open after the client has died, so end of file alone
is not enough: the parent is watched by a handle, and where the parent is such a wrapper, its parent too.
"""

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
from unhang.procs import identity
from unhang.procs.process_handle import open_process

# Programs that only start another one and wait for it.
WRAPPERS = frozenset(
    {"sh", "bash", "dash", "zsh", "npx", "npm", "npm exec", "uv", "uvx", "pipx", "env", "timeout", "nohup", "stdbuf"}
)
_MOST = 8
# After the end of our input the calls in flight are cancelled; whoever is not done by then is not waited for.
_PATIENCE = 1.0


def serve(server: MCPServer[Any], backend: Backend) -> int:
    anyio.run(_serve, server, backend)
    backend.close()
    return 0


async def _serve(server: MCPServer[Any], backend: Backend) -> None:
    loop = asyncio.get_running_loop()
    watched = _forebears()
    if watched is None:
        _leave(backend)
    for fd in watched or []:
        loop.add_reader(fd, _leave, backend)
    loop.add_signal_handler(signal.SIGINT, _leave, backend, EXIT_INTERRUPTED)
    try:
        async with stdio_server() as (heard, said):
            low = server._lowlevel_server
            await low.run(Answered(heard, said), said, low.create_initialization_options())
    finally:
        for fd in watched or []:
            loop.remove_reader(fd)
            os.close(fd)
        late = threading.Timer(_PATIENCE, _leave, [backend])
        late.daemon = True
        late.start()


def _leave(backend: Backend, code: int = 0) -> None:
    """At once: a thread may be blocked in a read of our stdin that never returns. The lease ends what is left."""
    backend.close()
    os._exit(code)


class Answered:
    """Our input, where a line that is no message is answered; the SDK would pass over it in silence."""

    def __init__(self, heard: ReadStream[SessionMessage | Exception], said: WriteStream[SessionMessage]) -> None:
        self._heard = heard
        self._said = said

    async def receive(self) -> SessionMessage | Exception:
        while True:
            found = await self._heard.receive()
            if not isinstance(found, Exception):
                return found
            await self._said.send(SessionMessage(_refusal(found)))

    def __aiter__(self) -> Answered:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._heard.aclose()

    async def __aenter__(self) -> Answered:
        await self._heard.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._heard.__aexit__(kind, value, trace)


def _refusal(found: Exception) -> JSONRPCError:
    """Whose request it was cannot be known: the id is null, as JSON-RPC has it."""
    broken = isinstance(found, ValidationError) and any(e["type"] == "json_invalid" for e in found.errors())
    code, message = (PARSE_ERROR, "Parse error") if broken else (INVALID_REQUEST, "Invalid request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))


def _forebears() -> list[int] | None:
    """Descriptors that become readable when one of those who matter dies; None: one is dead already."""
    found: list[int] = []
    pid = os.getppid()
    for _ in range(_MOST):
        if pid <= 1:
            break
        try:
            found.append(open_process(pid))
        except ProcessLookupError:
            return None
        except OSError:
            break  # no handle can be had, or it is not ours to see
        process = identity.find(pid)
        if process is None or process.name not in WRAPPERS:
            break
        pid = process.ppid
    return found
