"""What is wrong with the fleet's processes of a home, for `unhang doctor`: as their files say it, without a server."""

from __future__ import annotations

import os

from unhang.core import values
from unhang.errors import StateError
from unhang.fleet import note, worker_place
from unhang.store import file_lock, files, lock_owner


def troubles_of(home: str) -> list[str]:
    """Return a sentence for a publisher and each worker that does not do its work; none where none was started."""
    return _of_publisher(f"{home}/{note.FOLDER}/{note.PUBLISHER}") + [
        trouble for path in worker_place.places(home) for trouble in _of_worker(path)
    ]


def _of_publisher(path: str) -> list[str]:
    said, nothing = files.read_json(path), "nothing of this machine reaches the fleet"
    if not said:
        return []
    pid = lock_owner.stopped_pid(said)
    if pid is not None:
        return [f"`unhang fleet join` (pid {pid}) is stopped, and {nothing}: continue it with: kill -CONT {pid}"]
    if _is_free(path):
        return [f"`unhang fleet join` was killed, or the machine was, and {nothing}: unhang fleet join --background"]
    away = values.text(said.get(note.AWAY))
    if away:
        return [f"no server answers `unhang fleet join` since {away}: what is recorded waits on disk"]
    return []


def _of_worker(path: str) -> list[str]:
    said, queue = files.read_json(path), os.path.basename(path).partition(".")[0]
    if not said:
        return []
    pid, called = lock_owner.stopped_pid(said), f"`unhang worker --queue {queue}`"
    if pid is not None:
        return [f"{called} (pid {pid}) is stopped, and its jobs are ended: continue it with: kill -CONT {pid}"]
    if _is_free(path):
        return [f"{called} was killed, or the machine was, and takes no jobs any more: start it again"]
    return []


def _is_free(path: str) -> bool:
    """Whether no process holds a place; one that cannot be asked about is held."""
    try:
        fd = files.open_plain(path, os.O_RDWR)
    except (OSError, StateError):
        return False
    try:
        return file_lock.try_lock(fd, shared=True)
    finally:
        os.close(fd)
