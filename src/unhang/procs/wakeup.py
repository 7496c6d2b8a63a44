"""Waiting for a file to grow or a process to end, without busy waiting: both in one poll.

A file watch belongs to the kernel and not to the keeper, so a follower wakes even if the keeper is stopped, and costs
the keeper nothing. It also wakes when what is watched is deleted or moved away, since nothing else will come from
there. Where none can be had (a limit on watches or instances, another system) a short sleep takes its place.
"""

from __future__ import annotations

import os
import select

from unhang.procs.base import ADDED, ATTRIBUTES, CHANGED, GONE, RELEASED, REMOVED, UNMOUNTED
from unhang.procs.process_handle import open_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.base import FileWatch

# without a file watch: short enough for the eye, long enough for the processor
_NAP = 0.05


class Wakeup:
    """Add what to wait for, then `wait`. Close it (or use it as a context).

    `gone`: the watched paths that have been deleted or moved away, as far as the kernel has told.
    """

    def __init__(self) -> None:
        from unhang.procs.file_watch import FileWatch  # not at the top: it needs ctypes, and few commands wait

        self.gone: set[str] = set()
        self._files: FileWatch = FileWatch()
        self._watches: dict[int, dict[str, str]] = {}  # watch → what goes by this name in it ("": itself) → path
        self._blind = self._files.fd < 0  # something is not watched: sleep and look instead
        self._processes: dict[int, int] = {}  # descriptor → pid

    @property
    def fd(self) -> int:
        """Return a descriptor for an event loop, readable when a watched file changes; -1 where not everything can be
        watched.
        """
        return -1 if self._blind else self._files.fd

    def add_file(self, path: str) -> None:
        """Watch a file, or a folder (for entries that appear or are replaced, not for growth: a flood is a file)."""
        self.gone.discard(path)
        if not os.path.isdir(path):
            # a file that a process holds open is deleted only when it is closed; losing its last name changes it
            self._watch(path, CHANGED | ATTRIBUTES | GONE, "", path)
            return
        self._watch(path, ADDED | GONE, "", path)
        # nor is a folder deleted while a file that was in it is held open: only the folder above tells at once
        above, name = os.path.split(path)
        self._watch(above, REMOVED, name, path)

    def _watch(self, where: str, events: int, name: str, path: str) -> None:
        watch = self._files.add(where, events)
        if watch is None:
            self._blind = True
        else:
            self._watches.setdefault(watch, {})[name] = path

    def add_process(self, pid: int) -> bool:
        """Wait for the end of this process too. False: it is gone already."""
        try:
            self._processes[open_process(pid)] = pid
        except ProcessLookupError:
            return False
        except OSError:
            return True  # no handle can be had: the caller's own timeout must do
        return True

    def wait(self, timeout: float | None) -> bool:
        """Wait until something happens; False: the time is over. What happened must be looked at anyway."""
        poll = select.poll()
        if self._files.fd >= 0:
            poll.register(self._files.fd, select.POLLIN)
        if self._blind:
            timeout = _NAP if timeout is None else min(timeout, _NAP)
        for fd in self._processes:
            poll.register(fd, select.POLLIN)
        ready = poll.poll(None if timeout is None else max(0.0, timeout) * 1000)
        self.clear()
        for fd, _ in ready:
            if fd in self._processes:  # dead: said once
                del self._processes[fd]
                os.close(fd)
        return bool(ready)

    def clear(self) -> None:
        """Forget what the kernel has told, but for what is `gone`: the caller looks for itself."""
        for watch, what, name in self._files.read():
            path = self._watches.get(watch, {}).get(name)
            if what & (REMOVED | GONE | UNMOUNTED) and path is not None:
                self.gone.add(path)
            if what & RELEASED:
                self.gone.update(self._watches.pop(watch, {}).values())

    def close(self) -> None:
        """Give every descriptor back."""
        for fd in self._processes:
            os.close(fd)
        self._processes.clear()
        self._files.close()

    def __enter__(self) -> Wakeup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
