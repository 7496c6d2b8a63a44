"""The kernel says whose the other end of a TCP connection is, and that one which was closed is nobody's."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from unhang.procs.linux.peer_user import user_by_addresses
from unhang.procs.peer_user import NO_USER, user_of_peer

OTHER = 65534


@contextmanager
def connection(bound: str, to: str, user: int) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection whose client end was made by this user: that end, and the server's."""
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    own = os.geteuid()
    with socket.socket(family) as listening:
        listening.bind((bound, 0))
        listening.listen()
        address = (to, listening.getsockname()[1])
        os.seteuid(user)
        try:
            theirs = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET)
        finally:
            os.seteuid(own)
        with theirs:
            theirs.connect(address)
            ours, _ = listening.accept()
            with ours:
                yield theirs, ours


@pytest.mark.parametrize("user", ["this", "other"])
@pytest.mark.parametrize(
    ("bound", "to"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.5"), ("::1", "::1"), ("::", "127.0.0.1")]
)
def test_the_user_of_the_other_end_is_told_until_it_is_closed(bound: str, to: str, user: str) -> None:
    if user == "other" and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    wanted = OTHER if user == "other" else os.geteuid()
    with connection(bound, to, wanted) as (theirs, ours):
        assert user_of_peer(ours) == wanted
        theirs.shutdown(socket.SHUT_WR)
        assert user_of_peer(ours) == wanted
        theirs.close()
        assert user_of_peer(ours) == NO_USER
    with connection(bound, to, wanted) as (theirs, ours):
        theirs.sendall(b"do it")
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # by a reset: nothing is left of that end
        assert user_of_peer(ours) == NO_USER


def test_of_another_machine_and_of_what_is_no_address_it_cannot_be_told() -> None:
    here = ("127.0.0.1", 1)
    for odd in (
        ("192.0.2.1", 4444),
        ("2001:db8::1%lo", 4444),
        ("", 0),
        ("x", 1),
        ("127.0.0.1", -1),
        ("127.0.0.1", 1 << 20),
        ("/run/socket", 0),
    ):
        assert user_by_addresses(odd, here) is None
