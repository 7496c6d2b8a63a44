"""The HTTP way in: loopback unless told otherwise, a bearer token always, Host and Origin checked, bodies, connections
and sessions bounded.

A server that runs commands and listens on a port is an invitation to every web page the user opens (DNS rebinding, a
form that posts to 127.0.0.1): so the token alone is not trusted, and neither are the checks without the token.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
import sys
from functools import partial
from typing import Any, cast

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from unhang.core import plain_text
from unhang.errors import StateError, UsageError
from unhang.faces.mcp import connection_limits
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.disconnect import NoteDisconnects
from unhang.store import files
from unhang.store import home as homes

PATH = "/mcp"
TOKEN_FILE = "mcp-token"
LARGEST_BODY = 4 << 20
# Of the handshake era; a client that was killed leaves its session behind until it has been idle for so long.
MOST_SESSIONS = 500
SESSION_IDLE = 30 * 60.0
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class RequestCheck:
    """Refuses everything that does not come from a client that was given the token. Names no reason to a stranger."""

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
            connection_limits.admit(scope)
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
    """... and the connection is closed: the rest of the request is not read, and nothing is waited for."""
    return PlainTextResponse(text, status, {"Connection": "close", **(headers or {})})


def hosts_of(host: str, port: int) -> frozenset[str]:
    """What a client may call us. For a wildcard address every name would do, so only loopback is taken."""
    names = {*_LOOPBACK, host if ":" not in host else f"[{host}]"} - {"0.0.0.0", "[::]"}
    return frozenset(f"{name}:{port}" for name in names)


def app_of(server: MCPServer[Any], hosts: frozenset[str]) -> ASGIApp:
    """Without the token; RequestCheck goes around it."""
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


def token_of(path: str | None) -> tuple[str, str]:
    """(the token, its file); made with the first start, readable by this user only."""
    if path is None:
        home = homes.locate(os.environ)
        homes.ensure(home)
        path = os.path.join(home, TOKEN_FILE)
    try:
        fd = files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return _read_token(path), path
    except OSError as error:
        raise StateError(f"cannot write the token file {path}: {error.strerror}") from None
    token = secrets.token_urlsafe(32)
    with open(fd, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token, path


def _read_token(path: str) -> str:
    try:
        fd = files.open_plain(path, os.O_RDONLY)
    except OSError as error:
        raise StateError(f"cannot read the token file {path}: {error.strerror}") from None
    with open(fd, encoding="ascii", errors="replace") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StateError(f"refused: others may read the token file {path}; run: chmod 600 {path}")
        token = file.read(1024).strip()
    if len(token) < 20:
        raise StateError(f"the token in {path} is too short; remove the file and a new one is made")
    return token


def listen(address: str) -> tuple[socket.socket, str, int]:
    host, colon, port = address.rpartition(":")
    if not colon:
        host, port = "127.0.0.1", address
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--http: expected HOST:PORT, not {address!r}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, int(port)))
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise UsageError(f"--http: cannot listen on {address}: {error.strerror}") from None
    return sock, host, int(sock.getsockname()[1])


def serve(server: MCPServer[Any], backend: Backend, address: str, token_file: str | None) -> int:
    token, path = token_of(token_file)
    sock, host, port = listen(address)
    hosts = hosts_of(host, port)
    app = RequestCheck(app_of(server, hosts), token, hosts)
    entrance = connection_limits.ConnectionLimits()
    config = uvicorn.Config(
        app,
        http=cast(
            "type[asyncio.Protocol]", partial(connection_limits.LimitedConnection, entrance, connection_limits.PATIENCE)
        ),
        ws="none",
        backlog=entrance.most_strangers,  # also how many are accepted in one go
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{port}{PATH}", flush=True)
    print(f"unhang: the bearer token is in {path}", file=sys.stderr, flush=True)
    anyio.run(_serve, uvicorn.Server(config), sock)
    backend.close()
    return 0


async def _serve(runner: uvicorn.Server, sock: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(_say)
    await runner.serve(sockets=[sock])


def _say(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What goes wrong in the loop itself. The default writes a long report, for which it may need a descriptor: where
    there is none left, that would end the server."""
    try:
        problem = context.get("exception") or context.get("message")
        print(f"unhang: {plain_text.one_line(str(problem), 300)}", file=sys.stderr, flush=True)
    except OSError:
        pass
