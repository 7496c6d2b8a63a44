"""Requests to a live keeper: one JSON object a line, answered by one. A private socket in the job's 0700 directory.

Only the same user gets in (the directory says so, and the kernel is asked again). A request is bounded in size and
time, nonsense is answered in one line, and a client that does not read its answer is dropped: nobody who asks can
make the keeper wait.

The C module `_socket` and not `socket`: the latter costs 3 ms of start-up for names that are not used here.
"""

from __future__ import annotations

import json
import os
import sys
from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Handler = Callable[[dict[str, Any]], dict[str, Any]]

MAX_REQUEST = 2 << 20
MAX_CLIENTS = 64
PATIENCE = 5.0
_BACKLOG = 128


def short_path(folder_fd: int, name: str) -> str:
    """A path short enough for any socket address: through the open folder."""
    return f"/proc/self/fd/{folder_fd}/{name}"


def listen(folder: str, name: str) -> socket | None:
    """None where no socket can be had (a full disk, a file system without them): the job runs on without."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    server = socket(AF_UNIX, SOCK_STREAM)
    try:
        server.bind(short_path(fd, name))
        os.chmod(short_path(fd, name), 0o600)  # whatever the umask says
        server.listen(_BACKLOG)
        server.setblocking(False)
        return server
    except OSError:
        server.close()
        return None
    finally:
        os.close(fd)


def accept(server: socket) -> socket | None:
    """Somebody of our own user (or root), else None."""
    try:
        fd, _ = server._accept()  # type: ignore[attr-defined]
    except OSError:
        return None
    connection = socket(fileno=fd)
    if peer_uid(connection) in (os.geteuid(), 0):
        return connection
    connection.close()
    return None


def peer_uid(connection: socket) -> int:
    """From struct ucred: pid, uid, gid."""
    data = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(data[4:8], sys.byteorder)


class Connection:
    """One client. `owner`: the caller of a foreground job, whose going away ends the job."""

    def __init__(self, sock: socket, opened: float, *, owner: bool = False) -> None:
        self.sock = sock
        self.owner = owner
        self.open = True
        self.due = opened + PATIENCE
        self._in = bytearray()
        self._out = bytearray()
        sock.setblocking(False)

    def overdue(self, now: float) -> bool:
        return not self.owner and now >= self.due

    @property
    def writing(self) -> bool:
        return bool(self._out)

    def read(self, handle: Handler) -> None:
        try:
            chunk = self.sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.open = False
            return
        self._in += chunk
        while (end := self._in.find(b"\n")) >= 0:
            line = bytes(self._in[:end])
            del self._in[: end + 1]
            self.say(answer(line, handle))
        if len(self._in) > MAX_REQUEST:
            self.say({"ok": False, "error": "the request is too long"})
            self._in.clear()
            if not self.owner:
                self.open = False

    def say(self, message: dict[str, Any]) -> None:
        if len(self._out) < MAX_REQUEST:
            self._out += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.write()

    def write(self) -> None:
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
        self.open = False
        self.sock.close()


def answer(line: bytes, handle: Handler) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"ok": False, "error": "the request is not JSON"}
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        return {"ok": False, "error": 'the request has no "do"'}
    try:
        return {"ok": True} | handle(request)
    except (ValueError, TypeError, KeyError, ArithmeticError, OSError) as error:
        return {"ok": False, "error": str(error) or "the request makes no sense"}
