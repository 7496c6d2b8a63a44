"""One watcher for each home: the process that holds the lock on `watch/lock`, and that signs the file regularly.

A watcher that was stopped (SIGSTOP), or that hangs, keeps its lock and watches nothing. So the file says when it last
moved, and a reader asks the kernel for its state. A new watcher then puts a file of its own in the place of the lock;
the old one, if it ever continues, finds the other file and exits. One that runs in another container or on another
machine cannot be judged from here: it holds the lock, and so it watches.
"""

from __future__ import annotations

import json
import os
import signal
import time

from unhang import __version__
from unhang.core.durations import human
from unhang.core.values import integer_of, number_of, parse_message, text_of
from unhang.errors import StateError
from unhang.procs import identity, vantage
from unhang.procs.process_handle import ProcessHandle
from unhang.store import file_lock, files
from unhang.store import home as homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOCK = "lock"
WATCHING, STOPPED, HUNG, OUTDATED = "watching", "stopped", "hung", "outdated"
# How often a watcher signs at most, and after how long without that it counts as hung. Its longest work in one go
# (tmux servers that do not answer, a session that is started again) takes half a minute.
_BETWEEN = 5.0
_SILENT = 120.0
# A process that asks whether a watcher runs holds the lock for a moment.
_TRIES, _PAUSE = 5, 0.02
_LOOK_AGAIN = 10.0
_SIZE = 1024


def _now() -> float:
    """The time of a clock that stops while the machine is suspended: then no watcher can sign."""
    return time.monotonic()


class WatcherLock:
    """The lock that makes a process the only watcher of its home."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.path = f"{homes.watch_folder(home)}/{LOCK}"
        self._fd = -1
        self._signed = 0.0

    def take(self, *, wait: bool = False, waiting: Callable[[], None] | None = None) -> bool:
        """Take the lock; return False if a watcher that works has it. With `wait`, wait until that one has ended.

        `waiting` is called every few seconds meanwhile.
        """
        homes.make(self._home)
        homes.make(homes.watch_folder(self._home))
        while not self._take():
            who = holder(self._home)
            if who is not None and who["state"] != WATCHING and self._take_its_place():
                return True
            if not wait:
                return False
            if waiting is not None:
                waiting()
            _wait_for(who)
        return True

    def _take(self) -> bool:
        for again in range(_TRIES):
            fd = file_lock.open_locked(self.path)
            if fd is None:
                if again < _TRIES - 1:
                    time.sleep(_PAUSE)
                continue
            self._fd = fd
            if self.is_there():
                self.sign()
                return True
            self.close()  # another file has taken its place in between
        return False

    def _take_its_place(self) -> bool:
        """Of one that does not move. Only one process at a time may try."""
        place = os.open(homes.watch_folder(self._home), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if not file_lock.try_lock(place):
                return False
            who = holder(self._home)
            if who is None or who["state"] == WATCHING:
                return False
            mine = f"{self.path}.{os.urandom(4).hex()}"
            self._fd = files.open_plain(mine, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            file_lock.try_lock(self._fd)  # its name is new: no other process knows of it
            self.sign()
            os.rename(mine, self.path)
            return True
        finally:
            os.close(place)

    def sign(self) -> None:
        """Write the owner's pid and the time of its last turn; after a fork the child signs again."""
        pid = os.getpid()
        self._signed = _now()
        signed = {"pid": pid, "start": identity.start_time(pid), "moved": round(self._signed, 1)}
        data = json.dumps(signed | {"version": __version__} | vantage.record(vantage.here()))
        os.pwrite(self._fd, data.encode().ljust(_SIZE - 1) + b"\n", 0)  # of one length: never half of it is read
        os.ftruncate(self._fd, _SIZE)

    def keep(self) -> bool:
        """Sign if it is time to; return False if the lock is lost: its home was removed, or another took over."""
        if self._fd >= 0 and _now() - self._signed >= _BETWEEN:
            try:
                self.sign()
            except OSError:
                pass  # a full disk: another may take our place, and then we leave
        return self.is_there()

    def is_there(self) -> bool:
        """Return whether the locked file is still the one that others would open."""
        try:
            ours, found = os.fstat(self._fd), os.lstat(self.path)
        except OSError:
            return False
        return (ours.st_dev, ours.st_ino) == (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Give the lock up, if it is held."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def holder(home: str) -> dict[str, Any] | None:
    """Return the watcher's pid, start, state, silentMs, version and where; None: none runs.

    A field is null where it is not known; `where` is null for one that can be judged from here.
    """
    try:
        fd = files.open_plain(f"{homes.watch_folder(home)}/{LOCK}", os.O_RDWR)
    except (OSError, StateError):
        return None
    try:
        if file_lock.try_lock(fd, shared=True):
            return None
        return _judged(parse_message(os.pread(fd, 4096, 0)))
    except OSError:
        return None
    finally:
        os.close(fd)


def _judged(signed: Any) -> dict[str, Any]:
    pid, start = integer_of(signed, "pid"), text_of(signed, "start", most=40)
    version = text_of(signed, "version", most=40)
    where, silent = _elsewhere(signed), None
    state = WATCHING
    if where is None:
        moved = number_of(signed, "moved")
        silent = None if moved is None else max(0.0, _now() - moved)
        state = _state(pid, start, silent, version)
    silent_ms = None if silent is None else round(silent * 1000)
    named = {"pid": pid, "start": start or None, "state": state, "silentMs": silent_ms, "version": version or None}
    return named | {"where": where}


def _elsewhere(signed: Any) -> str | None:
    """Where it runs, if its pid and its clock mean nothing here; an older version did not say, and was judged."""
    if not text_of(signed, "boot"):
        return None
    seen = vantage.sight(signed, vantage.here())
    if seen.kind == vantage.HERE:
        return None
    # its lock is held: it is not of an earlier boot, but of a machine with this one's name
    return seen.where if seen.kind == vantage.ELSEWHERE else "another machine of this name"


def _state(pid: int | None, start: str, silent: float | None, version: str) -> str:
    found = identity.find(pid) if pid is not None and pid > 0 else None
    if found is not None and found.start == start and found.state in "Tt":
        return STOPPED
    if silent is not None and silent > _SILENT:
        return HUNG
    return OUTDATED if pid is not None and _numbers(version) < _numbers(__version__) else WATCHING


def _numbers(version: str) -> tuple[int, ...]:
    """To compare by; of two installations only the newer one replaces the watcher of the other."""
    words = version.split("+")[0].split(".")
    return tuple(int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 9)


def send(who: dict[str, Any], number: int, *, wait: bool) -> bool:
    """Send a signal to this watcher and no other process; `wait`: until it has ended. False: not reached."""
    pid = integer_of(who, "pid") or 0
    if who["where"] is not None:
        return False
    try:
        handle = ProcessHandle(pid)
    except OSError:
        return False
    with handle:
        if not who["start"] or identity.start_time(pid) != who["start"]:
            return False
        # one that is stopped must go on to be ended
        return handle.signal(number, signal.SIGCONT) and (not wait or handle.wait(_LOOK_AGAIN))


def describe_holder(who: dict[str, Any]) -> str:
    """Return the watcher's state, in one line."""
    name = f"pid {who['pid'] or '?'}"
    if who["where"] is not None:
        return f"a watcher is running ({name}, {who['where']})"
    if who["state"] == WATCHING:
        return f"a watcher is running ({name})"
    if who["state"] == OUTDATED:
        return f"the watcher ({name}) is of an older version ({who['version'] or 'unknown'}): the next hook replaces it"
    what = "is stopped" if who["state"] == STOPPED else f"has not moved for {human((who['silentMs'] or 0) / 1000)}"
    return f"the watcher ({name}) {what}: no session is watched; `unhang watch` takes its place"


def _wait_for(who: dict[str, Any] | None) -> None:
    """Until it ends, or until it is time to look at its state again."""
    pid = integer_of(who, "pid") or 0
    try:
        handle = ProcessHandle(pid)
    except OSError:
        time.sleep(1.0)
        return
    with handle:
        if identity.start_time(pid) == text_of(who, "start"):
            handle.wait(_LOOK_AGAIN)
        else:  # another process has its number, or it is not to be seen from here
            time.sleep(1.0)
