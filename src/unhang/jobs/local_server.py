"""What every HTTP server of ours on this machine shares: its socket, its names, and bounds for its connections.

Few and short connections without the token, many with it.

Any user of the machine can connect to a port of loopback. A peer that holds connections open, sends headers byte by
byte or opens thousands of connections must neither use up the descriptors of this process nor keep a client out.
Uvicorn bounds neither the number of connections nor the time that a request header may take. This subclass of its
protocol does:

- a connection is a stranger's until a request on it has shown the token; it has a few seconds to do so
- the number of strangers is bounded, in all and for each address; one more closes the oldest one, so that a client
  with a token, which it sends at once, always gets in
- a connection that has not finished its TLS handshake counts as a stranger's, though uvicorn does not know of it yet
- clients may hold half of the descriptors that this process may have; one more is closed
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from unhang.core import plain_text
from unhang.errors import UsageError

if TYPE_CHECKING:
    from uvicorn import Server

# Seconds from the connection to the token; a client sends it with its first bytes.
HEADER_PATIENCE = 10.0
_STRANGERS = 64
_OF_ONE_ADDRESS = 48
_KEY = "unhang.connection"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class ConnectionLimits:
    """Counts the connections of one server, and closes those that exceed its limits."""

    def __init__(self, descriptors: int | None = None) -> None:
        """`descriptors`: how many this process may have open."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if descriptors is None else descriptors
        most = 1 << 16 if most == resource.RLIM_INFINITY else most
        self.most_strangers = max(4, min(_STRANGERS, most // 8))
        self.most_of_one = max(3, min(_OF_ONE_ADDRESS, most // 10))
        self.most_clients = max(8, most // 2)
        self._strangers: dict[LimitedConnection, None] = {}  # the oldest first
        self._clients: set[LimitedConnection] = set()
        self._accepted: dict[int, tuple[socket.socket, str]] = {}  # by descriptor, the oldest first

    def accepted(self, sock: socket.socket, address: str) -> None:
        """Count a connection that was accepted and has no protocol yet: with TLS its peer may never say a word.

        If there are too many of them, the oldest is shut down; the event loop then closes it.
        """
        waiting = {fd: each for fd, each in self._accepted.items() if each[0].fileno() == fd and fd != sock.fileno()}
        self._accepted = waiting | {sock.fileno(): (sock, address)}
        same = [each for each, other in self._accepted.values() if other == address]
        if len(same) > self.most_of_one:
            self._shut(same[0])
        elif len(self._accepted) > self.most_strangers:
            self._shut(next(iter(self._accepted.values()))[0])

    def _shut(self, sock: socket.socket) -> None:
        self._accepted.pop(sock.fileno(), None)
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # its peer is gone

    def opened(self, connection: LimitedConnection, descriptor: int) -> None:
        """Count a new connection as a stranger's, and close the oldest one if there are too many."""
        self._accepted.pop(descriptor, None)
        self._strangers[connection] = None
        same = [other for other in self._strangers if other.address == connection.address]
        if len(same) > self.most_of_one:
            same[0].drop()
        elif len(self._strangers) > self.most_strangers:
            next(iter(self._strangers)).drop()

    def admitted(self, connection: LimitedConnection) -> None:
        """Count a connection as a client's from now on: it has shown the token."""
        if connection in self._clients:
            return
        self._strangers.pop(connection, None)
        if len(self._clients) >= self.most_clients:
            connection.drop()
        else:
            self._clients.add(connection)

    def closed(self, connection: LimitedConnection) -> None:
        """Forget a connection."""
        self._strangers.pop(connection, None)
        self._clients.discard(connection)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn that ConnectionLimits may close."""

    def __init__(self, limits: ConnectionLimits, patience: float, **given: Any) -> None:
        super().__init__(**given)
        self.address = ""
        self._limits = limits
        self._patience = patience
        self._overdue: asyncio.TimerHandle | None = None
        self.app_state = {**self.app_state, _KEY: self}  # every request has it as scope["state"]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time in which the token must come. Called by the event loop."""
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self._overdue = self.loop.call_later(self._patience, self.drop)
        self._limits.opened(self, transport.get_extra_info("socket").fileno())

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection. Called by the event loop."""
        self._forget()
        self._limits.closed(self)
        super().connection_lost(exc)

    def admit(self) -> None:
        """Let the connection stay: a request on it has shown the token."""
        self._forget()
        self._limits.admitted(self)

    def drop(self) -> None:
        """Close the connection at once, without sending what is left: a peer that does not read would keep it open."""
        self._forget()
        self._limits.closed(self)
        self.transport.abort()

    def _forget(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None


def admit(scope: Any) -> None:
    """Let the connection of this request stay: the request has shown the token."""
    connection = (scope.get("state") or {}).get(_KEY)
    if isinstance(connection, LimitedConnection):
        connection.admit()


def hosts_of(host: str, port: int) -> frozenset[str]:
    """Return the accepted values of Host. A server on a wildcard address accepts only the names of loopback."""
    names = {*LOOPBACK, host if ":" not in host else f"[{host}]"} - {"0.0.0.0", "[::]"}
    return frozenset(f"{name}:{port}" for name in names)


class LimitedListener(socket.socket):
    """A listening socket that tells its ConnectionLimits, if it has any, of every connection that is accepted."""

    limits: ConnectionLimits | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Called by the event loop."""
        sock, address = super().accept()
        if self.limits is not None:
            self.limits.accepted(sock, str(address[0]))
        return sock, address


def listen(option: str, address: str, limits: ConnectionLimits | None = None) -> tuple[LimitedListener, str, int]:
    """Listen on PORT or HOST:PORT, and return the socket, its host and its port. Raises UsageError, with the option."""
    host, colon, port = address.rpartition(":")
    if not colon:
        host, port = "127.0.0.1", address
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{option}: expected HOST:PORT, not {address!r}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = LimitedListener(family, socket.SOCK_STREAM)
    sock.limits = limits
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, int(port)))
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise UsageError(f"{option}: cannot listen on {address}: {error.strerror}") from None
    return sock, host, int(sock.getsockname()[1])


async def serve_on(runner: Server, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; errors of the event loop are one line each."""
    asyncio.get_running_loop().set_exception_handler(_say)
    await runner.serve(sockets=[sock])


def _say(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Print an error of the event loop in one line. The default handler prints a traceback and may need a descriptor
    for it; if none is left, that would end the server."""
    try:
        problem = context.get("exception") or context.get("message")
        print(f"unhang: {plain_text.one_line(str(problem), 300)}", file=sys.stderr, flush=True)
    except OSError:
        pass
