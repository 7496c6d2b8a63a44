"""A hold on one process: to wait for its end, or to signal it, and never another that got its number."""

from __future__ import annotations

import os
import select
import sys
import time

if sys.platform == "linux":
    from unhang.procs.linux.pidfd import open_process, signal_process
else:
    from unhang.procs.posix.absent import open_process, signal_process

__all__ = ["ProcessHandle", "open_process", "signal_process", "wait_for_end"]


class ProcessHandle:
    """Holds the process that has this number now; `fd` becomes readable when it ends.

    ProcessLookupError: there is none. OSError: the system cannot, or no descriptor is left.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = open_process(pid)

    def signal(self, *numbers: int) -> bool:
        """Send these signals. False: the process has ended. PermissionError: it is another user's."""
        try:
            for number in numbers:
                signal_process(self.fd, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self, seconds: float | None) -> bool:
        """Wait for its end, at most so long (None: for ever). False: it still runs."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))

    def close(self) -> None:
        """Close the handle; the process goes on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> ProcessHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def wait_for_end(pid: int, seconds: float) -> bool:
    """Wait until the process ends, at most so long; where it cannot be held, just as long. False: it may still run."""
    try:
        handle = ProcessHandle(pid)
    except ProcessLookupError:
        return True
    except OSError:
        time.sleep(seconds)
        return False
    with handle:
        return handle.wait(seconds)
