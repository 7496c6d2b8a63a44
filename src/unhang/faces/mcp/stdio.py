"""The stdio way in. The server ends with its client, however that goes: end of file, or the death of its parent.

A wrapper (npx, sh -c, uvx …) may hold the other end of our stdin open after the client has died, so end of file alone
is not enough: the parent is watched by a pidfd, and where the parent is such a wrapper, its parent too.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer

from unhang.faces.mcp.service import Service
from unhang.procs import stat

# Programs that only start another one and wait for it.
WRAPPERS = frozenset(
    {"sh", "bash", "dash", "zsh", "npx", "npm", "npm exec", "uv", "uvx", "pipx", "env", "timeout", "nohup", "stdbuf"}
)
_MOST = 8
# After the end of our input the calls in flight are cancelled; whoever is not done by then is not waited for.
_PATIENCE = 1.0


def serve(server: MCPServer[Any], service: Service) -> int:
    anyio.run(_serve, server, service)
    service.close()
    return 0


async def _serve(server: MCPServer[Any], service: Service) -> None:
    loop = asyncio.get_running_loop()
    watched = _forebears()
    if watched is None:
        _leave(service)
    for fd in watched or []:
        loop.add_reader(fd, _leave, service)
    try:
        await server.run_stdio_async()
    finally:
        for fd in watched or []:
            loop.remove_reader(fd)
            os.close(fd)
        late = threading.Timer(_PATIENCE, _leave, [service])
        late.daemon = True
        late.start()


def _leave(service: Service) -> None:
    """At once: a thread may be blocked in a read of our stdin that never returns. The lease ends what is left."""
    service.close()
    os._exit(0)


def _forebears() -> list[int] | None:
    """Descriptors that become readable when one of those who matter dies; None: one is dead already."""
    found: list[int] = []
    pid = os.getppid()
    for _ in range(_MOST):
        if pid <= 1:
            break
        try:
            found.append(os.pidfd_open(pid))
        except ProcessLookupError:
            return None
        except OSError:
            break  # no pidfds here, or not ours to see
        entry = stat.of(pid)
        if entry is None or _name(pid) not in WRAPPERS:
            break
        pid = entry[0].ppid
    return found


def _name(pid: int) -> str:
    data = stat.read_file(f"/proc/{pid}/comm", 64) or b""
    return data.decode("utf-8", "replace").strip()
