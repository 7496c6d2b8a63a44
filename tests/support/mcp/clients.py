"""The two official clients behind one function: `call(tool, **arguments)`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.mcp import typescript
from tests.support.mcp.follower import Call
from tests.support.mcp.harness import Servers

CLIENTS = ("python", "typescript")


@asynccontextmanager
async def client(servers: Servers, kind: str, *options: str) -> AsyncIterator[Call]:
    """A client of this kind, connected to a server of its own."""
    if kind == "typescript":
        async with typescript.connected(servers, *options) as session:
            yield session.call
    else:
        async with servers.connected("auto", *options) as caller:
            yield caller.call
