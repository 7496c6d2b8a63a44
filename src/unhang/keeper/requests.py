"""Where callers come with requests: the owner of a foreground job, and any process of the same user by the socket.

The job itself is such a process, so no client is trusted to behave. Seats are few (fewer where descriptors are scarce,
which a walk of the tree needs too), one process may take a quarter of them, and when all are taken the client that
came first makes room: a client that asks at once is answered at once, however many others only sit there. A stream of
new connections is let in by a bounded number at a time, with a rest in between: requests wait in the kernel's queue
meanwhile, and the keeper's clock does not.
"""

from __future__ import annotations

import binascii
import os
import select

from unhang.core import durations, plain_text
from unhang.core.outcome import CALLER_DIED
from unhang.keeper import control_socket
from unhang.procs import clock, descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, Protocol

    from unhang.keeper.streams import InputStream

    class JobControls(Protocol):
        """What the loop lets callers do."""

        into: InputStream | None
        master: int | None

        def stop(self, by: str, *, force: bool, interrupt: bool = False) -> None:
            """Cancel the job; `force`: kill it at once."""

        def typed(self, data: bytes) -> None:
            """Take what a person has typed at the terminal."""

        def interrupt(self) -> None:
            """Take a Ctrl-C of the person."""

        def pass_on(self, name: str) -> None:
            """Pass a signal of the caller's terminal on to the job."""

        def press(self, name: str) -> None:
            """Press the key of a signal at the job's terminal."""

        def wants_keys(self) -> bool:
            """Return whether what the person has typed is for the job."""

        def pause(self, *, force: bool) -> None:
            """Stop the job; `force`: it cannot refuse."""

        def go_on(self, *, here: bool) -> None:
            """Continue a job that was stopped; `here`: in the foreground."""

        def extend(self, idle: float, hard: float) -> None:
            """Move the limits by so many seconds."""

        def note_stall(self, silent: float, diagnosis: dict[str, Any]) -> None:
            """Record a silence of a turn that the proxy of an agent knows of."""

        def note_progress(self, silent: float, text: str) -> None:
            """Record what became of a turn that was silent for so long: it goes on, or is over."""

        def answered(self) -> None:
            """Note that a caller has sent input."""

        def silence(self) -> float:
            """Return for how many seconds there was no sign of life."""

        def ends_in(self) -> tuple[float, str] | None:
            """Return in how many seconds a limit ends the job, and which; None: none does."""

        @property
        def phase(self) -> str:
            """Return where the watchdog stands."""


MAX_SEATS = 64
# Descriptors that are kept free: a walk of the tree and a process handle need two or three, a full look a few more.
SPARE_DESCRIPTORS = 8
# What all unfinished requests together may take in memory.
MAX_HELD = 8 << 20
# So many are let in at once; if there were as many, that is a flood, and the next come after a rest.
ENTRIES = 32
FLOOD_REST = 0.01
# Until it is tried again when there is no descriptor for a single client.
SHORTAGE_REST = 1.0
# What a person does at the terminal that the job was started from. No limit runs while a job is paused, so a job that
# could ask for it itself would hang for ever.
_OF_THE_OWNER = frozenset({"pause", "continue", "press", "signal", "interrupt", "wants"})
# A keeper's own descriptors, where they cannot be counted.
_USED_AT_MOST = 24


class RequestServer:
    """Hears and answers every client.

    `attached`: the job ends with its owner. Otherwise the owner is only told that it has started.
    """

    def __init__(self, server: socket | None, owner: socket | None, *, attached: bool) -> None:
        self._server = server
        self._attached = attached
        self._clients: dict[int, control_socket.ClientConnection] = {}  # by descriptor, oldest first
        self._owner: control_socket.ClientConnection | None = None
        self._seats = 0  # not counted yet
        self._rests_until: float | None = None
        if owner is not None:
            self._owner = control_socket.ClientConnection(owner, clock.monotonic(), owner=True)
            self._clients[owner.fileno()] = self._owner

    def register(self, poll: select.poll) -> None:
        """Register every descriptor that the loop must wait for: the socket, unless it rests, and the clients."""
        if self._server is not None and self._rests_until is None:
            poll.register(self._server.fileno(), select.POLLIN)
        for fd, client in self._clients.items():
            reads = select.POLLIN if client.listening else 0
            poll.register(fd, reads | (select.POLLOUT if client.writing else 0))

    def due(self) -> float | None:
        """Return when to wake without a readable descriptor: a client timed out, or accepting resumes."""
        if not self._clients:
            return self._rests_until
        dues = [0.0 if client.behind else client.due for client in self._clients.values() if not client.owner]
        if self._owner is not None and self._owner.behind:
            dues.append(0.0)
        if self._rests_until is not None:
            dues.append(self._rests_until)
        return min(dues, default=None)

    def serve(self, ready: dict[int, int], served: JobControls) -> None:
        """Serve connected clients, then accept new ones."""
        for fd, client in [(fd, each) for fd, each in self._clients.items() if fd in ready or each.behind]:
            if not client.open:
                continue  # it had to make room just now
            if client.writing:
                client.write()
            if client.behind or ready.get(fd, 0) & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._hear(client, served)
        now = clock.monotonic()
        if self._server is not None and self._server.fileno() in ready:
            self._let_in(self._server, now, served)
        elif self._rests_until is not None and now >= self._rests_until:
            self._rests_until = None
        for client in [each for each in self._clients.values() if each.overdue(now)]:
            self._gone(client, served)

    def _hear(self, client: control_socket.ClientConnection, served: JobControls) -> None:
        client.read(lambda request: _handle(request, served, owner=client.owner))
        if not client.open:
            self._gone(client, served)
            return
        guests = [each for each in self._clients.values() if not each.owner]
        if sum(each.held for each in guests) > MAX_HELD:
            self._gone(max(guests, key=lambda each: each.held), served)

    def _let_in(self, server: socket, now: float, served: JobControls) -> None:
        for _ in range(ENTRIES):
            try:
                connection = control_socket.accept(server)
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError:  # no descriptor is left for it
                self._seats = 0
                guest = next((each for each in self._clients.values() if not each.owner), None)
                if guest is None:
                    self._rests_until = now + SHORTAGE_REST
                    return
                self._gone(guest, served)
                continue
            if connection is not None:
                self._seat(connection, now, served)
        self._rests_until = now + FLOOD_REST

    def _seat(self, connection: socket, now: float, served: JobControls) -> None:
        """Add a client; its request has most likely come with it, and is answered at once."""
        client = control_socket.ClientConnection(connection, now)
        guests = [each for each in self._clients.values() if not each.owner]
        self._seats = self._seats or _count_seats(len(guests) + 1)
        same = [each for each in guests if each.pid == client.pid]
        if len(same) >= max(1, self._seats // 4):
            self._gone(same[0], served)
        elif len(guests) >= self._seats:
            self._gone(guests[0], served)
        self._clients[connection.fileno()] = client
        self._hear(client, served)

    def _gone(self, client: control_socket.ClientConnection, served: JobControls) -> None:
        del self._clients[client.sock.fileno()]
        client.close()
        if client is self._owner:
            self._owner = None
            if self._attached:
                served.stop(CALLER_DIED, force=False)

    def poke(self, seq: int, shown: dict[str, Any] | None = None) -> None:
        """Tell the owner that there is something new to read, and how its terminal looks now."""
        if self._owner is not None:
            self._owner.say({"seq": seq} | (shown or {}))

    def register_owner(self, poll: select.poll) -> None:
        """Register only the owner's connection, where there is one."""
        if self._owner is not None:
            poll.register(self._owner.sock.fileno(), select.POLLIN)

    def owner_left(self, ready: dict[int, int]) -> bool:
        """Return, after the end of the job, whether its owner has gone away or wants no more of it."""
        return self._owner is None or self._owner.sock.fileno() in ready

    def tell_written(self) -> None:
        """Tell an owner that brings the record of the job to the disk itself that it is written."""
        if self._owner is not None:
            self._owner.say({"written": True})

    def finish(self, path: str, shown: dict[str, Any] | None = None) -> None:
        """Tell the owner that the job has ended, and how its terminal looks; take no further client."""
        if self._owner is not None:
            self._owner.say({"ended": True} | (shown or {}))
        if self._server is not None:
            self._server.close()
            try:
                os.unlink(path)
            except OSError:
                pass


def _count_seats(guests: int) -> int:
    """How many clients may be connected at once, at least two. `guests`: how many are connected now."""
    try:
        used = len(descriptors.open_numbers()) - guests
    except OSError:
        used = _USED_AT_MOST
    return max(2, min(MAX_SEATS, os.sysconf("SC_OPEN_MAX") - used - SPARE_DESCRIPTORS))


def _handle(request: dict[str, Any], served: JobControls, *, owner: bool) -> dict[str, Any]:
    if request["do"] in _OF_THE_OWNER and not owner:
        raise ValueError("only the process that the job was started from can ask for this")
    match request["do"]:
        case "cancel":
            who = _one_line(request.get("by"))[:80]
            force, interrupt = bool(request.get("force", False)), bool(request.get("interrupt", False))
            served.stop(who or "request", force=force, interrupt=interrupt)
            return {}
        case "interrupt":
            served.interrupt()
            return {}
        case "signal":
            served.pass_on(str(request.get("signal")))
            return {}
        case "press":
            served.press(str(request.get("signal")))
            return {}
        case "wants":
            return {"wants": served.wants_keys()}
        case "pause":
            served.pause(force=bool(request.get("force", False)))
            return {}
        case "continue":
            served.go_on(here=bool(request.get("here", True)))
            return {}
        case "extend":
            idle, hard = _seconds(request.get("idle", 0)), _seconds(request.get("hard", 0))
            served.extend(idle, hard)
            return {}
        case "stalled":
            from unhang.core.values import bounded, mapping_of

            told: dict[str, Any] = {name: _one_line(request.get(name)) for name in ("state", "cause", "reason")}
            told["evidence"] = bounded(mapping_of(request, "evidence"), text=200, nodes=40)
            served.note_stall(_seconds(request.get("silent", 0)), told)
            return {}
        case "progress":
            served.note_progress(_seconds(request.get("silent", 0)), _one_line(request.get("text")))
            return {}
        case "send":
            return _send(request, served)
        case "resize":
            if served.master is None:
                raise ValueError("the job has no terminal")
            from unhang.procs.spawn import set_size

            set_size(served.master, (_cells(request.get("rows")), _cells(request.get("columns"))))
            return {}
        case "terminal":
            if served.master is None:
                raise ValueError("the job has no terminal")
            from unhang.procs.spawn import terminal_state

            return dict(terminal_state(served.master))
        case "ping":
            silent, next_end = round(served.silence() * 1000), served.ends_in()
            ends, limit = (None, None) if next_end is None else (round(next_end[0] * 1000), next_end[1])
            return {"pid": os.getpid(), "phase": served.phase, "idleMs": silent, "endsInMs": ends, "endsBy": limit}
        case other:
            raise ValueError(f"unknown request: {other[:40]!r}")


def _cells(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10_000:
        raise ValueError("a terminal has 1 to 9999 rows and columns")
    return value


def _one_line(value: Any) -> str:
    return " ".join(plain_text.harmless(value[:1000]).split()) if isinstance(value, str) else ""


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a duration is a number of seconds")
    return durations.usable("extend", value)


def _send(request: dict[str, Any], served: JobControls) -> dict[str, Any]:
    if served.into is None:
        raise ValueError("the job's input cannot be written to: start it with --stdin pipe or --pty")
    data = binascii.a2b_base64(str(request.get("data", "")), strict_mode=True)
    problem = served.into.send(data, eof=bool(request.get("eof", False)))
    if problem is None and request.get("offered"):
        served.typed(data)
    elif problem is None:
        served.answered()
    if request.get("offered"):  # by an owner, who can wait until there is room; whose input is closed waits for nothing
        return {"offered": True, "full": problem is not None and served.into.open}
    if problem:
        raise ValueError(problem)
    return {"bytes": len(data)}
