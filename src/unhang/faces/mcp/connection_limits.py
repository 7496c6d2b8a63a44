"""Bounds the connections to the HTTP server: few and short ones without the token, many with it.

Any user of the machine can connect to a port of loopback. A peer that holds connections open, sends headers byte by
byte or opens thousands of connections must neither use up the descriptors of this process nor keep a client out.
Uvicorn bounds neither the number of connections nor the time that a request header may take. This subclass of its
protocol does:

- a connection is a stranger's until a request on it has shown the token; it has a few seconds to do so
- the number of strangers is bounded, in all and for each address; one more closes the oldest one, so that a client
  with a token, which it sends at once, always gets in
- clients may hold half of the descriptors that this process may have; one more is closed
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds from the connection to the token; a client sends it with its first bytes.
HEADER_PATIENCE = 10.0
_STRANGERS = 64
_OF_ONE_ADDRESS = 48
_KEY = "unhang.connection"


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

    def opened(self, connection: LimitedConnection) -> None:
        """Count a new connection as a stranger's, and close the oldest one if there are too many."""
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
        self._limits.opened(self)

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
