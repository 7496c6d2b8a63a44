"""Waiting for a file to grow or a process to end, without busy waiting: inotify and pidfds, in one poll.

inotify belongs to the kernel and not to the keeper, so a follower wakes even if the keeper is stopped, and costs the
keeper nothing. Where it cannot be had (a limit on watches, another system) a short sleep takes its place.
"""

from __future__ import annotations

import os
import select

IN_MODIFY = 0x2
IN_CREATE = 0x100
IN_MOVED_TO = 0x80
IN_CLOEXEC = 0o2000000
IN_NONBLOCK = 0o4000
# without inotify: short enough for the eye, long enough for the processor
_NAP = 0.05


class Wakeup:
    """Add what to wait for, then `wait`. Close it (or use it as a context)."""

    def __init__(self) -> None:
        self._inotify = _inotify_init()
        self._pidfds: dict[int, int] = {}  # descriptor → pid

    @property
    def fd(self) -> int:
        """For an event loop: readable when a watched file changes; -1 where there is no inotify."""
        return self._inotify

    def add_file(self, path: str) -> None:
        """A file, or a folder (wakes when an entry appears or is replaced, not when one grows: a flood is a file)."""
        mask = IN_CREATE | IN_MOVED_TO if os.path.isdir(path) else IN_MODIFY
        if self._inotify >= 0 and not _inotify_add(self._inotify, path, mask):
            os.close(self._inotify)
            self._inotify = -1

    def add_process(self, pid: int) -> bool:
        """False: it is gone already."""
        try:
            self._pidfds[os.pidfd_open(pid)] = pid
        except ProcessLookupError:
            return False
        except OSError:
            return True  # no pidfds here: the caller's own timeout must do
        return True

    def wait(self, timeout: float | None) -> bool:
        """Until something happens; False: the time is over. What happened must be looked at anyway."""
        poll = select.poll()
        if self._inotify >= 0:
            poll.register(self._inotify, select.POLLIN)
        else:
            timeout = _NAP if timeout is None else min(timeout, _NAP)
        for fd in self._pidfds:
            poll.register(fd, select.POLLIN)
        ready = poll.poll(None if timeout is None else max(0.0, timeout) * 1000)
        self.clear()
        for fd, _ in ready:
            if fd in self._pidfds:  # dead: said once
                del self._pidfds[fd]
                os.close(fd)
        return bool(ready)

    def clear(self) -> None:
        """Forget what inotify has to say: the caller looks for itself."""
        if self._inotify < 0:
            return
        try:
            while os.read(self._inotify, 1 << 16):
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        for fd in self._pidfds:
            os.close(fd)
        self._pidfds.clear()
        if self._inotify >= 0:
            os.close(self._inotify)
            self._inotify = -1

    def __enter__(self) -> Wakeup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _inotify_init() -> int:
    import ctypes

    try:
        return int(ctypes.CDLL(None).inotify_init1(IN_CLOEXEC | IN_NONBLOCK))
    except AttributeError:
        return -1


def _inotify_add(fd: int, path: str, mask: int) -> bool:
    import ctypes

    return int(ctypes.CDLL(None).inotify_add_watch(fd, os.fsencode(path), mask)) >= 0
