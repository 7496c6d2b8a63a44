"""The person's own terminal, while the job has one of its own: raw, so that every key reaches the job."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_person_in_front() -> bool:
    """Whether all three standard streams are one terminal: there sits a person, who sees everything."""
    try:
        devices = {os.fstat(fd).st_rdev for fd in range(3)}
    except OSError:
        return False
    return len(devices) == 1 and all(os.isatty(fd) for fd in range(3))


def is_in_front() -> bool:
    """Whether this process may use the terminal on stdin now: in the background of a shell it is another program's."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return True  # it is no terminal, or controls no session: nothing is in the background there


class UserTerminal:
    """The terminal on stdin: raw between `enter` and `leave`. Where stdin is no terminal, neither changes anything."""

    def __init__(self) -> None:
        self.fd = 0
        self.is_tty = os.isatty(0)
        self.entered = False
        self._saved: list[Any] | None = None

    def size(self) -> tuple[int, int] | None:
        """Return rows and columns of the first terminal among stdin, stdout and stderr."""
        for fd in (0, 1, 2):
            try:
                columns, rows = os.get_terminal_size(fd)
            except OSError:
                continue
            if rows and columns:
                return rows, columns
        return None

    @property
    def ours(self) -> bool:
        """Whether we may use it now."""
        return is_in_front()

    def enter(self) -> None:
        """Set it to pass on every key."""
        self.entered = True
        if self.is_tty:
            import termios
            import tty

            try:
                self._saved = termios.tcgetattr(self.fd)
                tty.setraw(self.fd, termios.TCSADRAIN)
            except (termios.error, OSError):
                self._saved = None  # it has gone away

    def leave(self) -> None:
        """Set it back to what it was."""
        saved, self._saved, self.entered = self._saved, None, False
        if saved is not None and self.ours:
            import termios

            try:
                termios.tcsetattr(self.fd, termios.TCSADRAIN, saved)
            except (termios.error, OSError):
                pass
