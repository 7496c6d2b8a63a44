"""When old jobs are removed: once an hour, after a new job was started, in a process or a thread of its own."""

from __future__ import annotations

import os

from unhang.errors import StateError
from unhang.procs import clock
from unhang.procs.inherited import close_all_but, to_null
from unhang.store import files

EVERY = 3600.0
_STAMP = "maintained"


def due(home: str) -> bool:
    """Return whether an hour has passed. Costs one stat. A new home is not due: there is nothing in it."""
    stamp = os.path.join(home, _STAMP)
    try:
        age = clock.wall() - os.stat(stamp).st_mtime
    except OSError:
        _touch(stamp)
        return False
    if 0 <= age < EVERY:
        return False
    _touch(stamp)  # also one from the future: the clock was set back
    return True


def _touch(stamp: str) -> None:
    try:
        os.close(files.open_plain(stamp, os.O_WRONLY | os.O_CREAT))
        os.utime(stamp)
    except (OSError, StateError):
        pass


def in_a_child(home: str) -> None:
    """Remove old jobs for a command line: a process of its own does the work, and the command does not wait for it."""
    if not due(home) or os.fork():
        return
    try:
        os.setsid()
        to_null(range(3))
        close_all_but()
        _collect(home)
    finally:
        os._exit(0)


def in_a_thread(home: str) -> None:
    """Remove old jobs for a library, which must not fork its caller's process."""
    if due(home):
        import threading

        threading.Thread(target=_collect, args=(home,), daemon=True, name="unhang-maintenance").start()


def _collect(home: str) -> None:
    """One round. A clock that was set forward makes nothing old: within a boot, time is what passes since the boot.

    After a new boot nothing can be told yet, so the first round removes nothing for its age.
    """
    from unhang.core import retention
    from unhang.jobs import history, remove_old
    from unhang.procs import identity

    try:
        path = os.path.join(home, _STAMP)
        clocks = retention.ClockReadings(clock.wall(), clock.monotonic(), identity.boot_id())
        stamp, keep = retention.from_json(files.read_json(path)), retention.Keep()
        if stamp is None or stamp.boot != clocks.boot:
            stamp, keep = retention.first_of(clocks), keep.replace(age=None, history=None)
            files.write_json(path, retention.to_json(stamp))
        now = retention.steady(clocks, stamp)
        remove_old.remove_old_jobs(home, keep, now)
        remove_old.remove_old_sessions(home, keep, now)
        history.forget(home, keep, now)
    except Exception:  # housekeeping may fail; the next hour comes
        pass
