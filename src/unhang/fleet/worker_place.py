"""The workers of a home: `fleet/workers/QUEUE.ID` is held by the worker that runs and says which process it is."""

from __future__ import annotations

import os
import signal
import subprocess

from unhang.errors import UnhangError
from unhang.fleet import note
from unhang.procs import executable
from unhang.procs.process_handle import ProcessHandle
from unhang.store import file_lock, files
from unhang.store import home as homes
from unhang.store.layout import new_id

_FOLDER = "workers"
_PATIENCE = 30.0


class WorkerPlace:
    """The place of one worker, until it leaves."""

    def __init__(self, path: str, fd: int, worker: str) -> None:
        self.id = worker
        self._path = path
        self._fd = fd

    def leave(self) -> None:
        """Give the place up."""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass
        os.close(self._fd)


def take(home: str, queue: str) -> WorkerPlace:
    """Make a place for this process."""
    folder = f"{note.folder(home)}/{_FOLDER}"
    homes.make(folder)
    worker = new_id()
    path = f"{folder}/{queue}.{worker}"
    fd = files.open_plain(path, os.O_RDWR | os.O_CREAT)
    file_lock.try_lock(fd)  # the id is new: no other process knows of the file
    note.sign(fd)
    return WorkerPlace(path, fd, worker)


def living(home: str, queue: str | None = None) -> dict[str, int]:
    """Return the pids of the workers that run, by path; what dead ones left is removed."""
    found = {}
    for path in places(home):
        pid = note.living(files.read_json(path))
        if pid is None:
            _tidy(path)
        elif queue in (None, os.path.basename(path).partition(".")[0]):
            found[path] = pid
    return found


def places(home: str) -> list[str]:
    """Return the places of all workers, also of those that were killed since the last one began."""
    folder = f"{home}/{note.FOLDER}/{_FOLDER}"
    try:
        return [f"{folder}/{name}" for name in sorted(os.listdir(folder))]
    except FileNotFoundError:
        return []


def _tidy(path: str) -> None:
    """Remove what a dead worker left; one that is just being born holds its place already."""
    try:
        fd = files.open_plain(path, os.O_RDWR)
    except OSError:
        return
    try:
        if file_lock.try_lock(fd) and os.fstat(fd).st_size:
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(fd)


def end_all(home: str, queue: str | None, *, drain: bool) -> int:
    """End the workers of a home and wait for it, or (`drain`) have them end with their jobs; return how many."""
    there = living(home, queue)
    for path, pid in there.items():
        try:
            handle = ProcessHandle(pid)
        except ProcessLookupError:
            continue
        with handle:
            if living(home).get(path) != pid:  # held first, then asked again
                continue
            if drain:
                handle.signal(signal.SIGUSR1, signal.SIGCONT)
            elif handle.signal(signal.SIGTERM, signal.SIGCONT) and not handle.wait(_PATIENCE):
                raise UnhangError(f"the worker (pid {pid}) does not end")
    return len(there)


def machine_of(home: str, address: str) -> str:
    """Return the name of this machine in the fleet; it joins if its jobs are not published yet."""
    if note.holder(home) is None:
        words = executable.command_line("fleet", "join", "--background")
        environ = dict(os.environ) | {note.VARIABLE: address}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ, check=False)
        if done.returncode != 0 and note.holder(home) is None:
            said = done.stderr.decode("utf-8", "replace").strip().removeprefix("unhang: ")
            raise UnhangError(f"this machine could not join the fleet: {said}")
    machine = note.read(home).machine
    if not machine:
        raise UnhangError("this machine has not joined the fleet yet: unhang fleet join")
    return machine
