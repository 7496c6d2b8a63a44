"""Where callers come with requests: the owner of a foreground job, and anybody of the same user by the socket."""

from __future__ import annotations

import binascii
import os
import select

from unhang.core import durations
from unhang.keeper import control
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, Protocol

    from unhang.keeper.streams import InputStream

    class Served(Protocol):
        """What the loop lets callers do."""

        into: InputStream | None
        master: int | None

        def stop(self, by: str, *, force: bool) -> None: ...
        def extend(self, idle: float, hard: float) -> None: ...
        def silence(self) -> float: ...
        @property
        def phase(self) -> str: ...


class Desk:
    """`attached`: the job ends with its owner. Otherwise the owner is only told that it has started."""

    def __init__(self, server: socket | None, owner: socket | None, *, attached: bool) -> None:
        self._server = server
        self._attached = attached
        self._clients: dict[int, control.Connection] = {}
        self._owner: control.Connection | None = None
        if owner is not None:
            self._owner = control.Connection(owner, clock.monotonic(), owner=True)
            self._clients[owner.fileno()] = self._owner

    def register(self, poll: select.poll) -> None:
        if self._server is not None and len(self._clients) < control.MAX_CLIENTS:
            poll.register(self._server.fileno(), select.POLLIN)
        for fd, client in self._clients.items():
            poll.register(fd, select.POLLIN | (select.POLLOUT if client.writing else 0))

    def due(self) -> float | None:
        """When the next client is overdue."""
        if not self._clients:
            return None
        return min((client.due for client in self._clients.values() if not client.owner), default=None)

    def serve(self, ready: dict[int, int], served: Served) -> None:
        if self._server is not None and self._server.fileno() in ready:
            self._accept()
        for fd in [fd for fd in self._clients if fd in ready]:
            client = self._clients[fd]
            if client.writing:
                client.write()
            if ready[fd] & (select.POLLIN | select.POLLHUP | select.POLLERR):
                client.read(lambda request, c=client: _handle(request, served, c))  # type: ignore[misc]
            if not client.open:
                self._gone(fd, client, served)
        now = clock.monotonic()
        for fd, client in list(self._clients.items()):
            if client.overdue(now):
                self._gone(fd, client, served)

    def _accept(self) -> None:
        assert self._server is not None
        connection = control.accept(self._server)
        if connection is None:
            return
        self._clients[connection.fileno()] = control.Connection(connection, clock.monotonic())

    def _gone(self, fd: int, client: control.Connection, served: Served) -> None:
        del self._clients[fd]
        client.close()
        if client is self._owner:
            self._owner = None
            if self._attached:
                served.stop("the death of its caller", force=False)

    def poke(self, seq: int) -> None:
        """Tell the owner that there is something new to read."""
        if self._owner is not None:
            self._owner.say({"seq": seq})

    def register_owner(self, poll: select.poll) -> None:
        if self._owner is not None:
            poll.register(self._owner.sock.fileno(), select.POLLIN)

    def owner_left(self, ready: dict[int, int]) -> bool:
        """After the end of the job: nobody is there any more, or somebody wants no more of it."""
        return self._owner is None or self._owner.sock.fileno() in ready

    def finish(self, path: str) -> None:
        if self._owner is not None:
            self._owner.say({"ended": True})
        if self._server is not None:
            self._server.close()
            try:
                os.unlink(path)
            except OSError:
                pass


def _handle(request: dict[str, Any], served: Served, client: control.Connection) -> dict[str, Any]:
    match request["do"]:
        case "cancel":
            served.stop(str(request.get("by", "request"))[:80], force=bool(request.get("force", False)))
            return {}
        case "extend":
            idle, hard = _seconds(request.get("idle", 0)), _seconds(request.get("hard", 0))
            served.extend(idle, hard)
            return {}
        case "send":
            return _send(request, served)
        case "resize":
            if served.master is None:
                raise ValueError("the job has no terminal")
            rows, columns = int(request["rows"]), int(request["columns"])
            if not (0 < rows < 10_000 and 0 < columns < 10_000):
                raise ValueError("a terminal has 1 to 9999 rows and columns")
            from unhang.procs.spawn import set_size

            set_size(served.master, (rows, columns))
            return {}
        case "terminal":
            if served.master is None:
                raise ValueError("the job has no terminal")
            from unhang.procs.spawn import terminal_state

            return dict(terminal_state(served.master))
        case "ping":
            return {"pid": os.getpid(), "phase": served.phase, "idleMs": round(served.silence() * 1000)}
        case other:
            del client
            raise ValueError(f"unknown request: {other[:40]!r}")


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a duration is a number of seconds")
    if not 0 <= value <= durations.LONGEST:
        raise ValueError("a duration is between 0 and a century")
    return float(value)


def _send(request: dict[str, Any], served: Served) -> dict[str, Any]:
    if served.into is None:
        raise ValueError("the job's input cannot be written to: start it with --stdin pipe or --pty")
    data = binascii.a2b_base64(str(request.get("data", "")), strict_mode=True)
    problem = served.into.send(data, eof=bool(request.get("eof", False)))
    if request.get("offered"):  # by an owner, who can wait until there is room; whose input is closed waits for nothing
        return {"offered": True, "full": problem is not None and served.into.open}
    if problem:
        raise ValueError(problem)
    return {"bytes": len(data)}
