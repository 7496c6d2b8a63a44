"""The user's own terminal, while the job has one of its own: raw, so that every key reaches the job."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UserTerminal:
    """The terminal on stdin, in raw mode inside a `with` block; without a terminal, the block changes nothing."""

    def __init__(self) -> None:
        self.fd = 0
        self.is_tty = os.isatty(0)
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

    def __enter__(self) -> UserTerminal:
        if self.is_tty:
            import termios
            import tty

            self._saved = termios.tcgetattr(self.fd)
            tty.setraw(self.fd, termios.TCSADRAIN)
        return self

    def __exit__(self, *_: object) -> None:
        if self._saved is not None:
            import termios

            termios.tcsetattr(self.fd, termios.TCSADRAIN, self._saved)
