"""Serves MCP on stdin and stdout. The server ends at end of file, or when the process of its client dies."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

from unhang.errors import EXIT_INTERRUPTED
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.stdio_session import StdioSession
from unhang.faces.mcp.stdio_streams import claim_streams
from unhang.jobs.client_process import open_client

# What is left at the end, such as a thread that a disk holds, is not waited for any longer.
_PATIENCE = 0.5


def serve(backend: Backend) -> int:
    """Serve the client on stdin and stdout until it is gone."""
    asyncio.run(_serve(backend))
    backend.close()
    return 0


async def _serve(backend: Backend) -> None:
    loop = asyncio.get_running_loop()
    watched = open_client()
    if watched is None:
        _leave(backend)
    for fd in watched or []:
        loop.add_reader(fd, _leave, backend)
    loop.add_signal_handler(signal.SIGINT, _leave, backend, EXIT_INTERRUPTED)
    try:
        heard, said = claim_streams()
        await StdioSession(Server(backend), said).run(heard)
        await said.close()
    finally:
        for fd in watched or []:
            loop.remove_reader(fd)
            os.close(fd)
        late = threading.Timer(_PATIENCE, _leave, [backend])
        late.daemon = True
        late.start()


def _leave(backend: Backend, code: int = 0) -> None:
    """Exit at once: a call may be held by a disk that hangs. The lease ends what is left."""
    backend.close()
    os._exit(code)
