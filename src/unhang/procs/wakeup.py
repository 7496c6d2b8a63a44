"""Waiting for a file to grow or a process to end, without busy waiting: inotify and pidfds, in one poll.

inotify belongs to the kernel and not to the keeper, so a follower wakes even if the keeper is stopped, and costs the
keeper nothing. It also wakes when what is watched is deleted or moved away, since nothing else will come from there.
Where it cannot be had (a limit on watches or instances, another system) a short sleep takes its place.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.inotify import Inotify

# without inotify: short enough for the eye, long enough for the processor
_NAP = 0.05


class Wakeup:
    """Add what to wait for, then `wait`. Close it (or use it as a context).

    `gone`: the watched paths that have been deleted or moved away, as far as inotify has told.
    """

    def __init__(self) -> None:
        from unhang.procs.inotify import Inotify  # not at the top: it needs ctypes, and few commands wait

        self.gone: set[str] = set()
        self._inotify: Inotify = Inotify()
        self._watches: dict[int, dict[str, str]] = {}  # watch → what goes by this name in it ("": itself) → path
        self._blind = self._inotify.fd < 0  # something is not watched: sleep and look instead
        self._pidfds: dict[int, int] = {}  # descriptor → pid

    @property
    def fd(self) -> int:
        """For an event loop: readable when a watched file changes; -1 where inotify cannot watch everything."""
        return -1 if self._blind else self._inotify.fd

    def add_file(self, path: str) -> None:
        """A file, or a folder (wakes when an entry appears or is replaced, not when one grows: a flood is a file)."""
        from unhang.procs import inotify as ino

        self.gone.discard(path)
        if not os.path.isdir(path):
            # a file that a process holds open is deleted only when it is closed; losing its last name changes it
            self._watch(path, ino.IN_MODIFY | ino.IN_ATTRIB | ino.IN_DELETE_SELF | ino.IN_MOVE_SELF, "", path)
            return
        self._watch(path, ino.IN_CREATE | ino.IN_MOVED_TO | ino.IN_DELETE_SELF | ino.IN_MOVE_SELF, "", path)
        # nor is a folder deleted while a file that was in it is held open: only the folder above tells at once
        above, name = os.path.split(path)
        self._watch(above, ino.IN_DELETE | ino.IN_MOVED_FROM, name, path)

    def _watch(self, where: str, mask: int, name: str, path: str) -> None:
        from unhang.procs.inotify import IN_MASK_ADD

        watch = self._inotify.add(where, mask | IN_MASK_ADD)
        if watch is None:
            self._blind = True
        else:
            self._watches.setdefault(watch, {})[name] = path

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
        if self._inotify.fd >= 0:
            poll.register(self._inotify.fd, select.POLLIN)
        if self._blind:
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
        """Forget what inotify has to say, but for what is `gone`: the caller looks for itself."""
        from unhang.procs import inotify as ino

        leaves = ino.IN_DELETE | ino.IN_MOVED_FROM | ino.IN_DELETE_SELF | ino.IN_MOVE_SELF | ino.IN_UNMOUNT
        for watch, what, name in self._inotify.read():
            path = self._watches.get(watch, {}).get(name)
            if what & leaves and path is not None:
                self.gone.add(path)
            if what & ino.IN_IGNORED:  # the kernel has let the watch go, and may use its number again
                self.gone.update(self._watches.pop(watch, {}).values())

    def close(self) -> None:
        for fd in self._pidfds:
            os.close(fd)
        self._pidfds.clear()
        self._inotify.close()

    def __enter__(self) -> Wakeup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
