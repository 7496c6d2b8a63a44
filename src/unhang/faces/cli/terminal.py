"""The person's own terminal, while the job has one of its own: raw, so that every key reaches the job.

While the kernel edits lines at the job's terminal, keys that are signals (Ctrl-C, Ctrl-Z) are signals here, too. So the
other keys can wait in this terminal until the job reads a line; what it never reads is the shell's afterwards.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What completes a line: Enter, and Ctrl-D.
_LINE_ENDS = b"\r\n\x04"
# The kernel's own: a line cannot be longer.
_LONGEST_LINE = 4096


def is_person_in_front() -> bool:
    """Return whether all three standard streams are one terminal: there sits a person, who sees everything."""
    try:
        devices = {os.fstat(fd).st_rdev for fd in range(3)}
    except OSError:
        return False
    return len(devices) == 1 and all(os.isatty(fd) for fd in range(3))


def is_in_front() -> bool:
    """Return whether this process may use the terminal on stdin now: in the background of a shell it is another
    program's.
    """
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
        self.lines = False  # entered, and keys wait in it
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
        """Return whether we may use it now."""
        return is_in_front()

    def enter(self, *, lines: bool) -> None:
        """Set it to pass on every key; with `lines`, those that are signals as signals."""
        self.entered = True
        if self.is_tty:
            import termios

            try:
                self._saved = termios.tcgetattr(self.fd)
            except (termios.error, OSError):
                self._saved = None  # it has gone away
            self._set(lines=lines)

    def follow(self, *, lines: bool) -> None:
        """Follow the job's terminal, whose program takes lines now, or keys."""
        if self._saved is not None and self.lines != lines and self.ours:
            self._set(lines=lines)

    def _set(self, *, lines: bool) -> None:
        import termios

        if self._saved is None:
            return
        inputs, outputs, control, local, *speeds, keys = self._saved
        inputs &= ~(termios.BRKINT | termios.ICRNL | termios.INPCK | termios.ISTRIP)
        local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        if not lines:
            inputs, local = inputs & ~termios.IXON, local & ~termios.ISIG
        control = control & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        keys = [*keys]
        keys[termios.VMIN], keys[termios.VTIME] = 1, 0
        modes = [inputs, outputs & ~termios.OPOST, control, local, *speeds, keys]
        try:
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
        except (termios.error, OSError):
            return
        self.lines = lines

    def take_line(self) -> bytes | None:
        """Read what waits up to the end of a line; None: nothing does. What is behind it stays."""
        import select

        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        taken = bytearray()
        while len(taken) < _LONGEST_LINE and any(mask & select.POLLIN for _, mask in poll.poll(0)):
            try:
                key = os.read(self.fd, 1)
            except OSError:
                break
            if key == b"\0":  # Ctrl-D, from before the terminal was set: so the kernel keeps it
                key = b"\x04"
            taken += key
            if not key or key in _LINE_ENDS:
                break
        return bytes(taken) or None

    def leave(self) -> None:
        """Set it back to what it was."""
        saved, self._saved, self.entered, self.lines = self._saved, None, False, False
        if saved is not None and self.ours:
            import termios

            try:
                termios.tcsetattr(self.fd, termios.TCSADRAIN, saved)
            except (termios.error, OSError):
                pass
