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
- clients may hold half of the descriptors that this process may have, and a thousand at most; one more is closed
- scrapers of metrics, whose token opens nothing else, are few and counted apart, so that they keep no client out; one
  more closes the oldest one
- a peer that takes nothing of what is written to it for a while is closed: what waits for it is held in memory
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from unhang.core import plain_text
from unhang.errors import UsageError
from unhang.procs.peer_user import NO_USER, user_of_peer

if TYPE_CHECKING:
    from uvicorn import Server

# Seconds from the connection to the token; a client sends it with its first bytes.
HEADER_PATIENCE = 10.0
# A peer that takes nothing is closed after one to two times this many seconds.
READER_PATIENCE = 30.0
_STRANGERS = 64
_OF_ONE_ADDRESS = 48
_CLIENTS = 1000
_SCRAPERS = 64
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
        self.most_clients = max(8, min(_CLIENTS, most // 2))
        self.most_scrapers = max(2, min(_SCRAPERS, most // 16))
        self._strangers: dict[LimitedConnection, None] = {}  # the oldest first
        self._scrapers: dict[LimitedConnection, None] = {}  # the oldest first
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
        self._scrapers.pop(connection, None)
        if len(self._clients) >= self.most_clients:
            connection.drop()
        else:
            self._clients.add(connection)

    def scrapes(self, connection: LimitedConnection) -> None:
        """Count a connection as a scraper's from now on, and close the oldest of them if there are too many."""
        if connection in self._clients:
            return
        self._strangers.pop(connection, None)
        self._scrapers[connection] = None
        if len(self._scrapers) > self.most_scrapers:
            next(iter(self._scrapers)).drop()

    def closed(self, connection: LimitedConnection) -> None:
        """Forget a connection."""
        self._strangers.pop(connection, None)
        self._scrapers.pop(connection, None)
        self._clients.discard(connection)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn that ConnectionLimits may close."""

    def __init__(
        self, limits: ConnectionLimits, patience: float, *, reader_patience: float = READER_PATIENCE, **given: Any
    ) -> None:
        super().__init__(**given)
        self.address = ""
        self._stranger: str | None = None
        self._limits = limits
        self._patience = patience
        self._overdue: asyncio.TimerHandle | None = None
        self._reader_patience = reader_patience
        self._left = 0  # what its peer had not taken at the last look, if it was held up by that
        self._look: asyncio.TimerHandle | None = None
        self.app_state = {**self.app_state, _KEY: self}  # every request has it as scope["state"]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time in which the token must come. Called by the event loop."""
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self._overdue = self.loop.call_later(self._patience, self.drop)
        self._look = self.loop.call_later(self._reader_patience, self._look_at_reader)
        self._limits.opened(self, transport.get_extra_info("socket").fileno())

    def resume_writing(self) -> None:
        """Note that the peer takes what is written. Called by the event loop."""
        self._left = 0
        super().resume_writing()

    def _look_at_reader(self) -> None:
        """Close a connection that is held up by its peer, if that has taken nothing since the last look.

        One that is closing is held up, too: it waits for its peer to take the rest.
        """
        held_up = self.flow.write_paused or self.transport.is_closing()
        left = self.transport.get_write_buffer_size() if held_up else 0
        if left and left == self._left:
            self.drop()
            return
        self._left = left
        self._look = self.loop.call_later(self._reader_patience, self._look_at_reader)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection. Called by the event loop."""
        if self._look is not None:
            self._look.cancel()
        self._forget()
        self._limits.closed(self)
        super().connection_lost(exc)

    def stranger(self) -> str:
        """Return which other user of this machine holds the other end, in words; "": none, as far as it can be told.

        Root may look at everything anyway, and forwards ports of other machines and containers. Who has closed its end
        already needs no answer, and may be anyone; a peer that is not of this kernel (the other half of WSL) is there.
        """
        if self._stranger is None:
            user = user_of_peer(self.transport.get_extra_info("socket"))
            if user == NO_USER:
                is_near = self.address.startswith("127.") or self.address in ("::1", "::ffff:127.0.0.1")
                self._stranger = "a user that cannot be told" if is_near else ""
            else:
                self._stranger = "" if user in (None, 0, os.geteuid()) else f"the user with the id {user}"
        return self._stranger

    def admit(self, *, scraper: bool = False) -> None:
        """Let the connection stay: a request on it has shown the token, or that of a scraper."""
        self._forget()
        if scraper:
            self._limits.scrapes(self)
        else:
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


def configured(app: Any, limits: ConnectionLimits, **more: Any) -> Config:
    """Return how uvicorn serves an application of ours: few strangers, no words of its own, a short farewell.

    `more`: what only this server wants.
    """
    return Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(LimitedConnection, limits, HEADER_PATIENCE)),
        ws="none",
        backlog=limits.most_strangers,  # uvicorn also accepts this many in one go
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=1,
        **more,
    )


def in_address(host: str) -> str:
    """Return a host as an address has it: one of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def stranger(scope: Any) -> str:
    """Return which other user of this machine has sent this request, in words; "": none, as far as it can be told."""
    connection = (scope.get("state") or {}).get(_KEY)
    return connection.stranger() if isinstance(connection, LimitedConnection) else ""


def admit(scope: Any, *, scraper: bool = False) -> None:
    """Let the connection of this request stay: the request has shown the token, or that of a scraper."""
    connection = (scope.get("state") or {}).get(_KEY)
    if isinstance(connection, LimitedConnection):
        connection.admit(scraper=scraper)


def hosts_of(host: str, port: int) -> frozenset[str]:
    """Return the accepted values of Host. A server on a wildcard address accepts only the names of loopback."""
    names = {*LOOPBACK, in_address(host)} - {"0.0.0.0", "[::]"}
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
