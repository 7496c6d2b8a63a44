"""Requests to a live keeper: one JSON object a line, answered by one. A private socket in the job's 0700 directory.

Only the same user gets in (the directory says so, and the kernel is asked again). A request is bounded in size, parts
and time, nonsense is answered in one line, and a client that does not read its answer is dropped: no client can make
the keeper wait, grow or die. Who gets a seat when there are too many is decided in requests.py.

The C module `_socket` and not `socket`: the latter costs 3 ms of start-up for names that are not used here.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket

from unhang.core import json_text
from unhang.procs import descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Handler = Callable[[dict[str, Any]], dict[str, Any]]

MAX_REQUEST = 2 << 20
# A request is flat and has a few fields. Two megabytes of brackets would become a hundred times as much in memory.
MAX_PARTS = 100
# What may wait to be read by a client before its next request is looked at.
MAX_UNREAD = 1 << 16
# What one client may ask in one turn of the keeper.
TURN = 16
PATIENCE = 5.0
_BACKLOG = 128


def listen(folder: str, name: str) -> socket | None:
    """Listen for callers; None where no socket can be had (a full disk, a file system without them): the job runs on
    without.
    """
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    server: socket | None = None
    try:
        server = socket(AF_UNIX, SOCK_STREAM)
        os.fchmod(server.fileno(), 0o600)  # what bind gives the file, at the most: the umask takes bits away
        server.bind(descriptors.path_in(fd, f"{folder}/{name}"))
        os.chmod(name, 0o600, dir_fd=fd)
        server.listen(_BACKLOG)
        server.setblocking(False)
        return server
    except OSError:
        if server is not None:
            server.close()
        return None
    finally:
        os.close(fd)


def accept(server: socket) -> socket | None:
    """Return the next client; None: it is another user's.

    BlockingIOError: there is none; OSError: it cannot be let in.
    """
    fd, _ = server._accept()  # type: ignore[attr-defined]
    connection = socket(fileno=fd)
    if peer(connection)[1] in (os.geteuid(), 0):
        return connection
    connection.close()
    return None


def peer(connection: socket) -> tuple[int, int]:
    """Return the pid and the uid that connected, from struct ucred: pid, uid, gid.

    The pid is 0 in another PID namespace.
    """
    data = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(data[:4], sys.byteorder), int.from_bytes(data[4:8], sys.byteorder)


class ClientConnection:
    """One client. `owner`: the caller of a foreground job, whose going away ends the job."""

    def __init__(self, sock: socket, opened: float, *, owner: bool = False) -> None:
        self.sock = sock
        self.pid = peer(sock)[0]
        self.owner = owner
        self.open = True
        self.due = opened + PATIENCE
        self._in = bytearray()
        self._out = bytearray()
        sock.setblocking(False)

    def overdue(self, now: float) -> bool:
        """Return whether the client has used up its time; the owner never does."""
        return not self.owner and now >= self.due

    @property
    def writing(self) -> bool:
        """Return whether an answer waits to be written."""
        return bool(self._out)

    @property
    def listening(self) -> bool:
        """Return whether it takes its answers; if not, nothing more is read from it."""
        return self.owner or len(self._out) < MAX_UNREAD

    @property
    def behind(self) -> bool:
        """Return whether whole requests wait that came with others before them."""
        return self.listening and b"\n" in self._in

    @property
    def held(self) -> int:
        """Return the memory that its unfinished request takes."""
        return len(self._in)

    def read(self, handle: Handler) -> None:
        """Read once and answer what is asked, a few requests a turn."""
        if b"\n" not in self._in and not self._receive():
            return
        for _ in range(TURN):
            end = self._in.find(b"\n")
            if end < 0 or not self.listening:
                break
            line = bytes(self._in[:end])
            del self._in[: end + 1]
            self.say(answer(line, handle))
        if len(self._in) > MAX_REQUEST and b"\n" not in self._in:
            self.say({"ok": False, "error": "the request is too long"})
            self._in.clear()
            if not self.owner:
                self.open = False

    def _receive(self) -> bool:
        """False: nothing has come, or nothing will."""
        try:
            chunk = self.sock.recv(1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.open = False
        self._in += chunk
        return bool(chunk)

    def say(self, message: dict[str, Any]) -> None:
        """Queue a message and write what the client takes now; a client that does not read loses it."""
        if len(self._out) < MAX_REQUEST:
            self._out += json_text.encode(message, ascii_only=True).encode() + b"\n"
        self.write()

    def write(self) -> None:
        """Write what is queued, as far as the client takes it now."""
        try:
            while self._out:
                done = self.sock.send(self._out)
                del self._out[:done]
        except BlockingIOError:
            return
        except OSError:
            self._out.clear()
            self.open = self.owner and self.open  # an owner's death is noticed by reading, once

    def close(self) -> None:
        """Close the socket."""
        self.open = False
        self.sock.close()


def answer(line: bytes, handle: Handler) -> dict[str, Any]:
    """Return the answer to one line; whatever the line holds, and whatever the handler raises, it is a dictionary."""
    if sum(map(line.count, (b"{", b"[", b","))) > MAX_PARTS:
        return {"ok": False, "error": "the request has too many parts"}
    try:
        request = json_text.decode(line)
    except (ValueError, RecursionError):
        return {"ok": False, "error": "the request is not JSON"}
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        return {"ok": False, "error": 'the request has no "do"'}
    try:
        return {"ok": True} | handle(request)
    except Exception as error:  # whatever a request can bring about: the keeper has a job to keep
        return {"ok": False, "error": " ".join(str(error).split()) or "the request makes no sense"}
