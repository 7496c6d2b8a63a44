"""Descriptors of processes: readable when the process has ended, and never another's."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # without the enumerations, as plain_signal.py has it


def open_process(pid: int) -> int:
    """Return a descriptor of the process. ProcessLookupError: there is none. OSError: no descriptor can be had."""
    try:
        return os.pidfd_open(pid)
    except AttributeError:  # this Python was built where the system call was unknown
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None


def signal_process(fd: int, number: int) -> None:
    """Send a signal. ProcessLookupError: the process has ended."""
    signal.pidfd_send_signal(fd, number)
