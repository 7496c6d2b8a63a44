"""Whose the other end of a TCP connection is: the kernel knows it of every socket of this machine.

It is asked for that one socket by its addresses (sock_diag), as `ss` does. A socket that its process has closed belongs
to no user any more; the kernel would say root.
"""

from __future__ import annotations

import socket
import struct

from unhang.procs.base import NO_USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_ESTABLISHED = 1
_MAPPED = b"\0" * 10 + b"\xff\xff"


def user_of_peer(ours: socket.socket) -> int | None:
    """Return the user whose process holds the other end of a TCP connection; `ours` is the end of this process.

    NO_USER: it has been closed; None: it cannot be told, as of another machine's.
    """
    try:
        ends = ours.getpeername(), ours.getsockname()
    except OSError:
        return NO_USER  # it was reset
    user = user_by_addresses(*ends)
    if user is None and not _is_open(ours):
        return NO_USER
    return user


def _is_open(ours: socket.socket) -> bool:
    """Whether the peer has neither closed nor reset the connection; True where that cannot be told."""
    try:
        state = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    except OSError:
        return True
    return not state or state[0] == _ESTABLISHED


def user_by_addresses(peer: tuple[Any, ...], here: tuple[Any, ...]) -> int | None:
    """Return the same by the addresses of both ends; None also where there is no such socket."""
    try:
        theirs, ours = _packed(peer[0]), _packed(here[0])
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as ask:
            ask.settimeout(1.0)
            family = socket.AF_INET if len(theirs) == 4 else socket.AF_INET6
            about = struct.pack("!HH16s16s", peer[1], here[1], theirs, ours)
            request = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + about
            request += struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # any interface, any cookie
            ask.send(struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + request)
            answer = ask.recv(1 << 12)
    except (OSError, ValueError, struct.error):
        return None
    return _user(answer)


def _packed(address: str) -> bytes:
    """An IPv4 address that is written as an IPv6 one is that of an IPv4 socket at the other end."""
    if ":" not in address:
        return socket.inet_pton(socket.AF_INET, address)
    packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    return packed[12:] if packed.startswith(_MAPPED) else packed


def _user(answer: bytes) -> int | None:
    if len(answer) < 20:
        return None
    kind = struct.unpack_from("=H", answer, 4)[0]
    if kind != _SOCK_DIAG_BY_FAMILY or len(answer) < 16 + 72:
        return None  # an error: there is no such socket here, or the question is not allowed
    user, inode = struct.unpack_from("=II", answer, 16 + 64)
    return int(user) if inode else NO_USER
