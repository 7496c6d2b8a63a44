"""Small files, read and replaced whole."""

from __future__ import annotations

import json
import os

from unhang.errors import StateError
from unhang.store.home import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1


def write_json(path: str, value: dict[str, Any]) -> None:
    """Atomic: a reader sees the old or the new file. ASCII, so that undecodable bytes of a command survive."""
    temporary = f"{path}.new"
    data = json.dumps({"v": FORMAT} | value, separators=(",", ":")).encode() + b"\n"
    fd = open_private(temporary, os.O_WRONLY | os.O_TRUNC)
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        os.unlink(temporary)  # a full disk needs every byte
        raise
    finally:
        os.close(fd)
    os.rename(temporary, path)


def read_json(path: str) -> dict[str, Any] | None:
    """None when it is missing or broken (a cache may be both)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    with open(fd, "rb") as file:
        try:
            value = json.loads(file.read())
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def refuse_newer(value: dict[str, Any], path: str) -> None:
    """A newer format may be read as far as possible, but never written."""
    if is_newer(value):
        version = value.get("v")
        raise StateError(f"refused to change {path}: it has format {version}, this unhang writes {FORMAT}")


def is_newer(value: dict[str, Any]) -> bool:
    version = value.get("v", FORMAT)
    return not isinstance(version, int) or version > FORMAT
