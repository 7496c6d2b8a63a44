"""Notices that the client of an HTTP request has disconnected.

By the protocol, a handshake-era client that drops its socket has not cancelled its call. But this server keeps no
stream that the client could resume, so the answer would reach no one: the call is cancelled, and its job ends.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KEY = "unhang.gone"


def gone_of(request: Any) -> asyncio.Event | None:
    """Return the event that is set when the client of this request has disconnected; None on stdio."""
    scope = getattr(request, "scope", None)
    found = scope.get(_KEY) if isinstance(scope, dict) else None
    return found if isinstance(found, asyncio.Event) else None


class NoteDisconnects:
    """Adds the event to every request. The response listens for the end of the connection, which sets the event."""

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
