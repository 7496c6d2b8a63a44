"""Small files, read and replaced whole; and how any file of ours is opened."""

from __future__ import annotations

import errno
import os
import stat as modes
import time

from unhang.core import json_text
from unhang.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
# No small file of ours comes near it: what is larger was put there by another program.
LARGEST = 64 << 20
# The kernel writes everything that is older than this by itself, in seconds.
_FRESH = 60.0
# What the kernel answers when a link, a pipe without a reader or a folder stands where a file should.
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV)
# What it answers where a file system, or a policy of the system, knows no second name of a file.
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP)


def open_plain(path: str, flags: int, mode: int = 0o600) -> int:
    """Open a regular file: never through a link, never waiting for the other end of a pipe.

    StateError for anything else in its place. A job owns its directory and can put what it likes there; a keeper or a
    reader that waits in open(2) would watch nothing any more.
    """
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise StateError(f"refused: {path} is no regular file") from None
        raise
    found = os.fstat(fd).st_mode
    if modes.S_ISREG(found):
        if flags & os.O_CREAT and found & 0o777 != mode:
            os.fchmod(fd, mode)  # the umask may have taken away even our own right to read it
        return fd
    os.close(fd)
    raise StateError(f"refused: {path} is no regular file")


def write_json(path: str, value: dict[str, Any], *, durable: bool = False) -> None:
    """Write a file in one step: a reader sees the old or the new one.

    ASCII, so that undecodable bytes of a command survive.

    `durable`: the contents are on the disk before the name is; the folder is for the caller to sync.
    """
    temporary = f"{path}.{os.urandom(4).hex()}.new"
    data = json_text.encode({"v": FORMAT} | value, ascii_only=True).encode() + b"\n"
    fd = open_plain(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        while data:
            data = data[os.write(fd, data) :]
        if durable:
            sync(fd)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)  # a full disk needs every byte
        raise
    finally:
        os.close(fd)


def create_once(path: str, data: bytes) -> bool:
    """Make a private file with these contents; False: something stands there already, and stays.

    It is written whole under another name first: a reader sees all of it or no file, also behind a crash or a full
    disk, and of several processes at once one is first. A file system without hard links (CIFS, FAT, Android) promises
    the last alone.
    """
    temporary = f"{path}.{os.urandom(4).hex()}.new"
    _write_new(temporary, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            _write_new(path, data)
        except FileExistsError:
            return False
    finally:
        os.unlink(temporary)
    sync_path(os.path.dirname(path) or ".")
    return True


def _write_new(path: str, data: bytes) -> None:
    """Write a private file that must not be there yet; where that fails, there is none."""
    fd = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        while data:
            data = data[os.write(fd, data) :]
        sync(fd)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def may_be_unwritten(status: os.stat_result) -> bool:
    """Return whether a file or folder has changed so recently that the change may not be on the disk yet."""
    return abs(time.time() - status.st_mtime) < _FRESH


def sync(fd: int) -> None:
    """Bring a file to the disk before this returns, as far as the file system can."""
    try:
        os.fsync(fd)
    except OSError:
        pass  # a file system that cannot, or a disk that is failing: nothing better is to be had


def sync_path(path: str) -> None:
    """Sync a file or a folder by its name; one that is gone needs nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    sync(fd)
    os.close(fd)


def read_json(path: str) -> dict[str, Any] | None:
    """Return the object in a file; None when it is missing, broken (a cache may be both) or no file at all."""
    try:
        fd = open_plain(path, os.O_RDONLY)
    except (OSError, StateError):
        return None
    with open(fd, "rb") as file:
        size = os.fstat(fd).st_size
        if size > LARGEST:
            return None
        try:
            value = json_text.decode(file.read(size))  # `read` makes a buffer of what it is given, before it reads
        except (ValueError, RecursionError, OSError):
            return None
    return value if isinstance(value, dict) else None


def refuse_newer(value: dict[str, Any], path: str) -> None:
    """Raise StateError for a newer format, which may be read as far as possible, but never written."""
    if is_newer(value):
        version = value.get("v")
        raise StateError(f"refused to change {path}: it has format {version}, this unhang writes {FORMAT}")


def is_newer(value: dict[str, Any]) -> bool:
    """Return whether a record was written in a newer format than this version knows."""
    version = value.get("v", FORMAT)
    return not isinstance(version, int) or version > FORMAT
