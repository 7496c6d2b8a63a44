"""The tests reach this machine alone: real agents phone home, and whatever they send must go nowhere.

Each process of the tests has a network of its own, with nothing but loopback in it, and so has all that it starts.
Making one needs root: elsewhere the tests use the machine's network, and say so.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def enter() -> bool:
    """Leave the machine's network for an empty one with loopback; False where that is not permitted."""
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    return True
