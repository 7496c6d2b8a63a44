"""Serves MCP over HTTP, on loopback by default. Bodies, connections and sessions are bounded.

Every web page that the user opens can try to reach a port on loopback (DNS rebinding, a form that posts to 127.0.0.1).
So each request needs the bearer token and a known Host and Origin; neither check is enough without the other.
"""

from __future__ import annotations

import hmac
import logging
import sys
import warnings
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.disconnect import NoteDisconnects
from unhang.faces.mcp.sdk import SdkThreads, build
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.jobs.local_server import (
    ConnectionLimits,
    admit,
    configured,
    hosts_of,
    in_address,
    listen,
    serve_on,
)
from unhang.jobs.token_file import read_or_make, token_path

PATH = "/mcp"
TOKEN_FILE = "mcp-token"
LARGEST_BODY = 4 << 20
# Sessions of the handshake era. A client that was killed leaves its session behind until it has been idle this long.
MOST_SESSIONS = 500
SESSION_IDLE = 30 * 60.0


class RequestCheck:
    """Refuses every request without the token, or with a foreign Host or Origin. The answer gives no details."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = hosts
        self._origins = frozenset(f"http://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers)
        if refusal is None:
            admit(scope)
            await self._app(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if headers.get("host") not in self._hosts:
            return _refused("unknown host", 421)
        if "origin" in headers and headers["origin"] not in self._origins:
            return _refused("foreign origin", 403)
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
            return _refused("a bearer token is needed", 401, {"WWW-Authenticate": 'Bearer realm="unhang"'})
        return None


def _refused(text: str, status: int, headers: dict[str, str] | None = None) -> PlainTextResponse:
    """Return a refusal that also closes the connection, so that the rest of the request is not read."""
    return PlainTextResponse(text, status, {"Connection": "close", **(headers or {})})


def app_of(server: MCPServer[Any], hosts: frozenset[str]) -> ASGIApp:
    """Return the application without the check of the token, which RequestCheck adds."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=sorted(hosts),
        allowed_origins=[f"http://{host}" for host in sorted(hosts)],
    )
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST_BODY,
        max_sessions=MOST_SESSIONS,
        session_idle_timeout=SESSION_IDLE,
        transport_security=security,
    )
    return NoteDisconnects(inner)


def serve(settings: Settings, address: str, token_file: str | None) -> int:
    """Serve over HTTP until SIGINT or SIGTERM, after printing the URL on stdout."""
    backend = Backend(settings, SdkThreads())
    # the deprecations of the protocol are for developers, not for the log of the client
    warnings.simplefilter("ignore")
    server = build(Server(backend))
    logging.disable(logging.WARNING)
    path = token_file or token_path(TOKEN_FILE)
    token = read_or_make(path)
    sock, host, port = listen("--http", address)
    hosts = hosts_of(host, port)
    app = RequestCheck(app_of(server, hosts), token, hosts)
    config = configured(app, ConnectionLimits())
    print(f"http://{in_address(host)}:{port}{PATH}", flush=True)
    print(f"unhang: the bearer token is in {path}", file=sys.stderr, flush=True)
    anyio.run(serve_on, uvicorn.Server(config), sock)
    backend.close()
    return 0
