"""Which `unhang web` runs for a home, and at which origins a browser reaches it: `alerts/pages/`, a locked file each.

The kernel drops the lock with the process, so a page that was killed is known to be gone. One that is stopped (SIGSTOP)
keeps it and answers no browser: it has signed the file, behind its origins, so that this can be seen.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.errors import StateError
from unhang.store import file_lock, files, lock_owner
from unhang.store import home as homes
from unhang.store.alert_news import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_LARGEST = 1 << 14


def announce(home: str, origins: Iterable[str]) -> None:
    """Note that this process serves the page; it holds until the process ends. A disk that is full hinders no page."""
    try:
        _announce(home, origins)
    except (OSError, StateError):
        return  # alerts have the command to paste


def _announce(home: str, origins: Iterable[str]) -> None:
    folder = _folder(home)
    for each in (home, f"{home}/{FOLDER}", folder):
        homes.make(each)
    _noted(home)  # removes what others have left
    name = str(secrets.randbits(63))  # not its pid, which a page in another container with this home may have, too
    new = f"{folder}/.{name}.new"
    fd = files.open_plain(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    fcntl.flock(fd, fcntl.LOCK_EX)  # never closed: the lock is what says that this process lives
    os.write(fd, json.dumps([*sorted(origins), lock_owner.signature()]).encode())
    os.rename(new, f"{folder}/{name}")  # it is not found before it is locked


def is_served(home: str, origin: str) -> bool:
    """Return whether a page that runs answers at this origin."""
    return origin in page_origins(home)


def page_origins(home: str) -> set[str]:
    """Return the origins of all pages that run for this home and are not stopped."""
    return {origin for noted in _noted(home) if _stopped_pid(noted) is None for origin in _origins(noted)}


def stopped(home: str) -> list[tuple[int, list[str]]]:
    """Return the pages that are stopped: the pid of each, and its origins."""
    found = ((_stopped_pid(noted), _origins(noted)) for noted in _noted(home))
    return [(pid, origins) for pid, origins in found if pid is not None]


def _origins(noted: list[Any]) -> list[str]:
    return [each for each in noted if isinstance(each, str)]


def _stopped_pid(noted: list[Any]) -> int | None:
    return next((lock_owner.stopped_pid(each) for each in noted if isinstance(each, dict)), None)


def _noted(home: str) -> list[list[Any]]:
    """What each page that runs has written of itself. What others have left is removed."""
    found: list[list[Any]] = []
    try:
        names = os.listdir(_folder(home))
    except FileNotFoundError:
        return found
    for name in filter(str.isdecimal, names):
        try:
            fd = files.open_plain(f"{_folder(home)}/{name}", os.O_RDONLY)
        except (OSError, StateError):
            continue
        try:
            if file_lock.try_lock(fd, shared=True):
                os.unlink(f"{_folder(home)}/{name}")  # its process is gone
            else:
                known = values.parse_message(os.read(fd, _LARGEST))
                found.append(known if isinstance(known, list) else [])
        except FileNotFoundError:
            pass
        finally:
            os.close(fd)
    return found


def _folder(home: str) -> str:
    return f"{home}/{FOLDER}/pages"
