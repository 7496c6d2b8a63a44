"""Keys as NATS has them (nkeys): an Ed25519 key pair whose public half the server knows.

Only the seed is a secret. It is kept by the user alone; the server sends a number, and gets it back signed.
"""

from __future__ import annotations

import base64
import binascii
import os

from unhang.core.extras import Extra
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# The first letters of what is written: S for a seed, U for a user.
_SEED, _USER = 18 << 3, 20 << 3
_BYTES = 32


def new_seed() -> str:
    """Return the seed of a new user."""
    first = bytes([_SEED | (_USER >> 5), (_USER & 31) << 3])
    return _written(first + os.urandom(_BYTES))


def public_key(seed: str) -> str:
    """Return what the server is told of a user. Raises UsageError where it is no user's seed."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return _written(bytes([_USER]) + _key(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def signed(seed: str, number: str) -> bytes:
    """Return the server's number, signed, as the protocol has it; nothing for what is no such number.

    It is one word. What an operator signs for workers (core/fleet/task.py) has lines: no server gets that signed here.
    """
    if "\n" in number:
        return b""
    return _signature(seed, number.encode())


def signed_text(seed: str, data: bytes) -> str:
    """Return who we are and our signature of something, as one text; `signer` reads it."""
    return f"{public_key(seed)} {_signature(seed, data).decode()}"


def signer(text: str, data: bytes) -> str | None:
    """Return the public key of the user who has signed this; None if it is not signed so."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key, _, signature = text.partition(" ")
    raw = _read(key)
    if len(raw) != _BYTES + 1 or raw[0] != _USER:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(raw[1:]).verify(base64.b64decode(signature, validate=True), data)
    except (InvalidSignature, ValueError):
        return None
    return key


def _signature(seed: str, data: bytes) -> bytes:
    return base64.b64encode(_key(seed).sign(data))


def _key(seed: str) -> Ed25519PrivateKey:
    with Extra("nkeys need the package cryptography", "fleet"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    raw = _read(seed)
    if len(raw) != _BYTES + 2 or raw[0] & 248 != _SEED or ((raw[0] & 7) << 5 | raw[1] >> 3) != _USER:
        raise UsageError("the credentials hold no seed of a user")
    return Ed25519PrivateKey.from_private_bytes(raw[2:])


def _read(text: str) -> bytes:
    """Return the bytes of a key or a seed; none if it is broken."""
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        return b""
    return data[:-2] if data[-2:] == _check(data[:-2]) else b""


def _written(data: bytes) -> str:
    return base64.b32encode(data + _check(data)).decode().rstrip("=")


def _check(data: bytes) -> bytes:
    """CRC-16/XMODEM, the low byte first."""
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
