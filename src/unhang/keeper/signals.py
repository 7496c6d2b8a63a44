"""Signals to the keeper, turned into bytes on a pipe so that the loop hears them like everything else."""

from __future__ import annotations

import os
import signal

# somebody wants the keeper itself to go: the job is ended first
_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class SignalPipe:
    def __init__(self) -> None:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_end, False)
        self._heard = b""
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGCONT, *_STOP):
            signal.signal(number, _ignore)

    @property
    def fds(self) -> set[int]:
        return {self.fd, self._write_end}

    def continued(self) -> bool:
        """Have we been stopped since the last call? (It decides how the silence that just passed is counted.)

        Never trusts the poll for it: a sleep that ended while we were stopped reports its time-out and nothing else.
        """
        try:
            self._heard += os.read(self.fd, 4096)
        except BlockingIOError:
            pass
        stopped = signal.SIGCONT in self._heard
        self._heard = self._heard.replace(bytes([signal.SIGCONT]), b"")
        return stopped

    def take(self) -> list[int]:
        """The requests to stop since the last call."""
        heard, self._heard = self._heard, b""
        return [number for number in heard if number in _STOP]


def _ignore(_number: int, _frame: object) -> None:
    """The wake-up pipe carries the news; a handler must exist for it to be written."""
