"""The two official clients behind one function: `call(tool, **arguments)`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.mcp import typescript
from tests.support.mcp.follower import Call
from tests.support.mcp.harness import Reply, Servers

CLIENTS = ("python", "typescript")
_NEWS = re.compile(r"NEWS since your last call:\n(?:- .*\n)*")


def without_news(call: Call) -> Call:
    """The same client, whose answers say nothing of its other jobs: many calls at once have news for each other."""

    async def called(tool: str, /, **arguments: Any) -> Reply:
        found = await call(tool, **arguments)
        return found._replace(text=_NEWS.sub("", found.text, count=1))

    return called


@asynccontextmanager
async def client(servers: Servers, kind: str, *options: str) -> AsyncIterator[Call]:
    """A client of this kind, connected to a server of its own."""
    if kind == "typescript":
        async with typescript.connected(servers, *options) as session:
            yield without_news(session.call)
    else:
        async with servers.connected("auto", *options) as caller:
            yield without_news(caller.call)
