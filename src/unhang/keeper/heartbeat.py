"""Signs of life that a job sends itself: systemd's notify protocol, so programs that speak it need no change.

`WATCHDOG=1` is a heartbeat, `STATUS=` a line for people, `EXTEND_TIMEOUT_USEC=` asks for that much silence from now on,
`READY=1` and `STOPPING=1` are noted.

The socket is a file in the job's directory, where other users cannot reach it. If its path is too long for an address,
it is an abstract one instead, which every process on the machine can find and flood. In either case the kernel is asked
who sent each message, and other users' are passed over. Only so many are taken in one turn, with a rest after a flood:
a sender cannot keep the keeper from its clock, from the output and from requests.
"""

from __future__ import annotations

import os
import sys
from _socket import AF_UNIX, CMSG_SPACE, SO_PASSCRED, SOCK_DGRAM, SOL_SOCKET, socket

from unhang.core import plain_text
from unhang.core.record import Record
from unhang.procs import clock

# The kernel's struct ucred: pid, uid, gid.
_CREDENTIALS = 12
_SCM_CREDENTIALS = 2
_LONGEST = 4096
# The kernel's sun_path has 108 bytes, and programs put a zero byte at its end.
_LONGEST_PATH = 107
# So many are read at once; if there were as many, the next are read after a rest. Senders wait meanwhile.
TURN = 64
REST = 0.02
# A status is for people: once a second is more than they read. A bare heartbeat is recorded now and then.
STATUS_EVERY = 1.0
BEAT_EVERY = 60.0


class Beat(Record):
    """What one message of the job says: a sign of life, a status line, a longer silence in seconds."""

    alive: bool = False
    status: str | None = None
    extend: float = 0.0


class HeartbeatSocket:
    """Where the job's heartbeats arrive. `path`: where the socket shall be, if that fits."""

    def __init__(self, job_id: str, path: str) -> None:
        self._path = path if os.path.isabs(path) and len(os.fsencode(path)) <= _LONGEST_PATH else ""
        self._name = f"unhang/{job_id}/{int.from_bytes(os.urandom(4), 'big'):08x}"
        self._rests_until = 0.0
        self._sock = self._bound(self._path) if self._path else None
        if self._sock is None:
            self._path = ""
            self._sock = self._bound(b"\0" + self._name.encode())

    @staticmethod
    def _bound(address: str | bytes) -> socket | None:
        sock: socket | None = None
        try:
            sock = socket(AF_UNIX, SOCK_DGRAM)
            os.fchmod(sock.fileno(), 0o600)  # what bind gives the file, at the most: the umask takes bits away
            sock.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
            sock.setblocking(False)
            sock.bind(address)
            if isinstance(address, str):
                os.chmod(address, 0o600)
            return sock
        except OSError:
            if sock is not None:
                sock.close()
            return None

    @property
    def fd(self) -> int:
        """Return the descriptor to poll; -1 while there is none."""
        return -1 if self._sock is None or self.due() is not None else self._sock.fileno()

    def due(self) -> float | None:
        """Return until when it rests; None: it does not."""
        if self._rests_until and clock.monotonic() >= self._rests_until:
            self._rests_until = 0.0
        return self._rests_until or None

    def environment(self, idle: float | None) -> dict[str, str]:
        """Return the variables that tell the job where to send, and how often it is worth it (systemd's advice: half of
        the limit).
        """
        if self._sock is None:
            return {}
        shown = {"NOTIFY_SOCKET": self._path or "@" + self._name}
        if idle is not None:
            shown["WATCHDOG_USEC"] = str(int(idle * 1e6))
        return shown

    def hear(self) -> Beat:
        """Return what has arrived, taken together, from a bounded number of messages."""
        beat = Beat()
        if self._sock is None:
            return beat
        for _ in range(TURN):
            try:
                data, ancillary, _, _ = self._sock.recvmsg(_LONGEST, CMSG_SPACE(_CREDENTIALS))
            except OSError:
                return beat
            if _sender(ancillary) in (os.geteuid(), 0):
                beat = _merged(beat, parse(data))
        self._rests_until = clock.monotonic() + REST
        return beat

    def close(self) -> None:
        """Close the socket and remove its file; a second call does nothing."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        if self._path:
            try:
                os.unlink(self._path)
            except OSError:
                pass


def _sender(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in ancillary:
        if level == SOL_SOCKET and kind == _SCM_CREDENTIALS and len(data) >= _CREDENTIALS:
            return int.from_bytes(data[4:8], sys.byteorder)
    return None


def parse(data: bytes) -> Beat:
    """Read a heartbeat; nothing is raised, and what is not known is passed over."""
    alive, status, extend = False, None, 0.0
    for line in data.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition("=")
        if name == "WATCHDOG" and value == "1":
            alive = True
        elif name == "STATUS":
            status = " ".join(plain_text.harmless(value[:500]).split())
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
