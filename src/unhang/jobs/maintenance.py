"""Now and then, and never in anybody's way: old jobs are let go when a new one is started."""

from __future__ import annotations

import os

from unhang.procs import clock
from unhang.store import home as homes

EVERY = 3600.0
_STAMP = "maintained"


def due(home: str) -> bool:
    """One stat. A new home is not due: there is nothing in it."""
    stamp = os.path.join(home, _STAMP)
    try:
        age = clock.wall() - os.stat(stamp).st_mtime
    except OSError:
        _touch(stamp)
        return False
    if 0 <= age < EVERY:
        return False
    _touch(stamp)
    return True


def _touch(stamp: str) -> None:
    try:
        os.close(homes.open_private(stamp, os.O_WRONLY))
        os.utime(stamp)
    except OSError:
        pass


def in_a_child(home: str) -> None:
    """For a command line: a process of its own does it, and nobody waits for that."""
    if not due(home) or os.fork():
        return
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.closerange(3, 1 << 16)
        _collect(home)
    finally:
        os._exit(0)


def in_a_thread(home: str) -> None:
    """For a library: forking is not ours to do there."""
    if due(home):
        import threading

        threading.Thread(target=_collect, args=(home,), daemon=True, name="unhang-maintenance").start()


def _collect(home: str) -> None:
    from unhang.core.retention import Keep
    from unhang.jobs import sessions
    from unhang.jobs.listing import collect

    try:
        collect(home, Keep())
        sessions.collect(home, Keep())
    except Exception:  # housekeeping may fail; the next hour comes
        pass
