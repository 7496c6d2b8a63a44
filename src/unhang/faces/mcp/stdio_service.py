"""Serves a client on stdio to its end, once it has been greeted (stdio.py)."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

from unhang.errors import EXIT_INTERRUPTED
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.protocol import McpConversation
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.stdio_ends import ReadEnd, WriteEnd
from unhang.faces.mcp.stdio_session import StdioSession
from unhang.faces.mcp.stdio_streams import LineInput, LineOutput

# What is left at the end, such as a thread that a disk holds, is not waited for any longer.
_PATIENCE = 0.5


def serve(settings: Settings, heard: ReadEnd, said: WriteEnd, conversation: McpConversation, watched: list[int]) -> int:
    """Go on with a conversation until the client is gone. `watched`: they become readable when it dies."""
    backend = Backend(settings)
    asyncio.run(_serve(backend, heard, said, conversation, watched))
    backend.close()
    return 0


async def _serve(
    backend: Backend, heard: ReadEnd, said: WriteEnd, conversation: McpConversation, watched: list[int]
) -> None:
    loop = asyncio.get_running_loop()
    for fd in watched:
        loop.add_reader(fd, _leave, backend)
    loop.add_signal_handler(signal.SIGINT, _leave, backend, EXIT_INTERRUPTED)
    try:
        output = LineOutput(said)
        await StdioSession(Server(backend), output, conversation).run(LineInput(heard, output))
        await output.close()
    finally:
        for fd in watched:
            loop.remove_reader(fd)
            os.close(fd)
        late = threading.Timer(_PATIENCE, _leave, [backend])
        late.daemon = True
        late.start()


def _leave(backend: Backend, code: int = 0) -> None:
    """Exit at once: a call may be held by a disk that hangs. The lease ends what is left."""
    backend.close()
    os._exit(code)
