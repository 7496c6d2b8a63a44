"""Keys as NATS has them (nkeys): an Ed25519 key pair whose public half the server knows.

Only the seed is a secret. It is kept by the user alone; the server sends a number, and gets it back signed.
"""

from __future__ import annotations

import base64
import binascii
import os

from unhang.errors import UnhangError, UsageError

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
    """Return the server's number, signed, as the protocol has it."""
    return base64.b64encode(_key(seed).sign(number.encode()))


def _key(seed: str) -> Ed25519PrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError:
        raise UnhangError("nkeys need the package cryptography: pip install 'unhang[fleet]'") from None
    try:
        data = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except (binascii.Error, ValueError):
        data = b""
    raw, check = data[:-2], data[-2:]
    if (
        len(raw) != _BYTES + 2
        or check != _check(raw)
        or raw[0] & 248 != _SEED
        or ((raw[0] & 7) << 5 | raw[1] >> 3) != _USER
    ):
        raise UsageError("the credentials hold no seed of a user")
    return Ed25519PrivateKey.from_private_bytes(raw[2:])


def _written(data: bytes) -> str:
    return base64.b32encode(data + _check(data)).decode().rstrip("=")


def _check(data: bytes) -> bytes:
    """CRC-16/XMODEM, the low byte first."""
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")
