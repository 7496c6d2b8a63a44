"""One watcher a home: whoever holds the lock on `watch/lock` is it. A hook may try the lock to see whether one runs."""

from __future__ import annotations

import fcntl
import json
import os

from unhang.procs import stat
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER, LOCK = "watch", "lock"


def folder(home: str) -> str:
    return f"{home}/{FOLDER}"


class Lock:
    def __init__(self, home: str) -> None:
        self._home = home
        self.path = f"{folder(home)}/{LOCK}"
        self._fd = -1

    def take(self, *, wait: bool = False) -> bool:
        """False: somebody else has it. With `wait` that is waited out."""
        homes.make(self._home)
        homes.make(folder(self._home))
        fd = homes.open_private(self.path, os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        self.sign()
        return True

    def sign(self) -> None:
        """Whose it is, for people. After a fork the child signs again."""
        pid = os.getpid()
        data = json.dumps({"pid": pid, "start": stat.start_time(pid)}).encode()
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, data, 0)

    def is_there(self) -> bool:
        """Still the file that others would try: the home was not removed or replaced."""
        try:
            ours, found = os.fstat(self._fd), os.lstat(self.path)
        except OSError:
            return False
        return (ours.st_dev, ours.st_ino) == (found.st_dev, found.st_ino)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def holder(home: str) -> dict[str, Any] | None:
    """Who watches; None: nobody."""
    try:
        fd = os.open(f"{folder(home)}/{LOCK}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        try:
            found = json.loads(os.pread(fd, 4096, 0))
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {}
    finally:
        os.close(fd)
