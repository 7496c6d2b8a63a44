"""Signals to the keeper, turned into bytes on a pipe so that the loop hears them like everything else."""

from __future__ import annotations

import os

from unhang import plain_signal as signal

# The keeper itself is told to end: it ends the job first.
_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class SignalPipe:
    """Turns the signals that concern the keeper into bytes that can be polled. There may be one in a process."""

    def __init__(self) -> None:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_STOP):
            signal.signal(number, _ignore)
        self._stopped = False
        signal.signal(signal.SIGCONT, self._note_stop)

    @property
    def fds(self) -> set[int]:
        """Return both ends of the pipe."""
        return {self.fd, self._write_end}

    def _note_stop(self, _number: int, _frame: object) -> None:
        self._stopped = True

    def continued(self) -> bool:
        """Return whether the keeper has been stopped since the last call, which decides how the silence so far is
        counted.

        The poll does not tell: a sleep that ended while the keeper was stopped reports its time-out and nothing else.
        The handler has run before the first line after it.
        """
        stopped, self._stopped = self._stopped, False
        return stopped

    def take(self) -> list[int]:
        """Return the requests to stop since the last call."""
        try:
            heard = os.read(self.fd, 4096)
        except BlockingIOError:
            return []
        return [number for number in heard if number in _STOP]


def _ignore(_number: int, _frame: object) -> None:
    """The wake-up pipe carries the news; a handler must exist for it to be written."""
