"""Is whoever made this HTTP request still there?

A handshake-era client that drops its socket does not cancel its call, by the letter of the protocol; but this server
keeps no stream to come back to, so nobody will ever hear the answer, and a command that nobody waits for is ended.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KEY = "unhang.gone"


def gone_of(request: Any) -> asyncio.Event | None:
    """Set when the client of this request has left; None on stdio."""
    scope = getattr(request, "scope", None)
    found = scope.get(_KEY) if isinstance(scope, dict) else None
    return found if isinstance(found, asyncio.Event) else None


class NoteDisconnects:
    """Puts such an event on every request. The response itself listens for the end of the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        gone = asyncio.Event()
        scope[_KEY] = gone

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        await self._app(scope, heard, send)
