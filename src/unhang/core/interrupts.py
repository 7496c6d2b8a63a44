"""What one more Ctrl-C means: the program's own signal, then its end, then its kill.

Pure: it is told of each press and of the time. A program that answers Ctrl-C by asking for the next command (a shell, a
debugger) is not on its way to its end, so that presses there never add up; and none is ended by a press before it was
said that the next one would do so.
"""

from __future__ import annotations

# How long after the first press it is said what the next one does, if the program is still there.
PATIENCE = 1.0
# After so long without a press the next one is a first one again.
FORGOTTEN = 60.0

PASS_ON, END, KILL = 1, 2, 3


class Interrupts:
    """Counts the presses of a person who wants the job to end."""

    def __init__(self) -> None:
        self.ever = False  # there has been one, whatever became of it
        self._count = 0
        self._pressed = 0.0
        self._due: float | None = None
        self._told = False

    def press(self, now: float, *, waits: bool) -> int:
        """Note a press and return what it means. `waits`: the program waits for the next thing that is typed."""
        self.ever = True
        if waits or (self._count <= PASS_ON and now - self._pressed > FORGOTTEN):
            self.forget()
        if self._count == 0:
            self._count = PASS_ON
            self._due = None if waits else now + PATIENCE
        elif self._told:
            self._count = min(KILL, self._count + 1)
        self._pressed = now
        return self._count

    def due(self) -> float | None:
        """Return when `ask_to_tell` is to be called."""
        return self._due

    def ask_to_tell(self, now: float, *, waits: bool) -> bool:
        """Return whether it is to be said now what the next press does."""
        if self._due is None or now < self._due:
            return False
        self._due = None
        if waits:
            self.forget()
            return False
        self._told = True
        return True

    def forget(self) -> None:
        """Begin to count again, unless the end of the job has been asked for already."""
        if self._count <= PASS_ON:
            self._count, self._due, self._told = 0, None, False
