"""Signs of life that a job sends itself: systemd's notify protocol, so programs that speak it need no change.

`WATCHDOG=1` is a heartbeat, `STATUS=` a line for people, `EXTEND_TIMEOUT_USEC=` asks for that much silence from now on,
`READY=1` and `STOPPING=1` are noted. The socket is an abstract one: its name is short whatever the state directory is,
and nothing is left on disk. Anybody on the machine can find it, so the kernel is asked who sent each message.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, CMSG_SPACE, SO_PASSCRED, SOCK_DGRAM, SOL_SOCKET, socket

from unhang.core.record import Record

# The kernel's struct ucred: pid, uid, gid.
_CREDENTIALS = 12
_SCM_CREDENTIALS = 2
_LONGEST = 4096
# A status is for people: once a second is more than they read. A bare heartbeat is recorded now and then.
STATUS_EVERY = 1.0
BEAT_EVERY = 60.0


class Beat(Record):
    alive: bool = False
    status: str | None = None
    extend: float = 0.0


class Heart:
    def __init__(self, job_id: str) -> None:
        self._name = f"unhang/{job_id}/{int.from_bytes(os.urandom(4), 'big'):08x}"
        self._sock: socket | None = socket(AF_UNIX, SOCK_DGRAM)
        try:
            self._sock.bind(b"\0" + self._name.encode())
            self._sock.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
            self._sock.setblocking(False)
        except OSError:
            self._sock.close()
            self._sock = None

    @property
    def fd(self) -> int:
        return -1 if self._sock is None else self._sock.fileno()

    def environment(self, idle: float | None) -> dict[str, str]:
        """For the job: where to send, and how often it is worth it (systemd's advice: half of the limit)."""
        if self._sock is None:
            return {}
        shown = {"NOTIFY_SOCKET": "@" + self._name}
        if idle is not None:
            shown["WATCHDOG_USEC"] = str(int(idle * 1e6))
        return shown

    def hear(self) -> Beat:
        """All that has arrived, taken together."""
        beat = Beat()
        while self._sock is not None:
            try:
                data, ancillary, _, _ = self._sock.recvmsg(_LONGEST, CMSG_SPACE(_CREDENTIALS))
            except OSError:
                break
            if _sender(ancillary) in (os.geteuid(), 0):
                beat = _merged(beat, parse(data))
        return beat

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in ancillary:
        if level == SOL_SOCKET and kind == _SCM_CREDENTIALS and len(data) >= _CREDENTIALS:
            return int.from_bytes(data[4:8], sys.byteorder)
    return None


def parse(data: bytes) -> Beat:
    """Never raises; what it does not know it passes over."""
    alive, status, extend = False, None, 0.0
    for line in data.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition("=")
        if name == "WATCHDOG" and value == "1":
            alive = True
        elif name == "STATUS":
            status = value[:500]
        elif name == "EXTEND_TIMEOUT_USEC" and value.isascii() and value.isdigit() and len(value) < 18:
            alive, extend = True, int(value) / 1e6
        elif name in ("READY", "STOPPING", "RELOADING") and value == "1":
            alive = True
            status = status or name.lower()
    return Beat(alive, status, extend)


def _merged(old: Beat, new: Beat) -> Beat:
    return Beat(
        old.alive or new.alive, new.status if new.status is not None else old.status, max(old.extend, new.extend)
    )
