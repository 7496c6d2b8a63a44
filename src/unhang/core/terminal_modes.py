"""What a program's output does to the terminal in front of a person, as far as unhang must know it.

Three questions are answered from the escape sequences in the output: does the program fill the screen or edit a line
there (then nothing of ours may be drawn into it), does the cursor stand at the beginning of an empty line, and what has
to be undone if the program is ended before it could do so itself.
"""

from __future__ import annotations

_ESC = 0x1B
_PRIVATE = b"\x1b[?"
# The second screen, by each of the numbers that terminals know it by.
_SCREENS = frozenset({47, 1047, 1049})
# Cursor keys for an application: what a pager or an editor switches on that draws on the first screen.
_KEYS = 1
# Bracketed paste: on while a line is being edited, off while a command of it runs.
_EDITING = 2004
_CURSOR = 25
# Switched off again behind a program that could not: reports of the mouse and of the focus.
_REPORTS = frozenset({9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016})
_KNOWN = _SCREENS | _REPORTS | {_KEYS, _EDITING}
# No sequence of these is longer; one that is not finished by then is text.
_LONGEST = 64
# How much of an unfinished line is looked through for something to see on it.
_LINE = 4096


class TerminalModes:
    """The modes of the terminal after all output so far, given piece by piece (`feed`)."""

    def __init__(self) -> None:
        self.fresh = True  # the cursor stands on an empty line
        self._on: set[int] = set()
        self._hidden = False  # the cursor
        self._keypad = False
        self._rest = b""  # the beginning of a sequence whose end has not come yet

    @property
    def full(self) -> bool:
        """Return whether a program fills the screen.

        It has switched to the second one, or to keys for an application.
        """
        return self._keypad or bool(self._on & (_SCREENS | {_KEYS}))

    @property
    def editing(self) -> bool:
        """Return whether a line is being edited: its program redraws it with every key."""
        return _EDITING in self._on

    def feed(self, data: bytes) -> None:
        """Take a piece of output into account."""
        if _ESC in data or self._rest:
            data, self._rest = self._rest + data, b""
            self._find_modes(data)
        self._find_line(data)

    def restore(self) -> bytes:
        """Return what brings the terminal back to how it was, without a mode that the program has left on."""
        back = b"".join(b"\x1b[?%dl" % mode for mode in sorted(self._on, reverse=True))
        back += b"\x1b>" if self._keypad else b""
        back += b"\x1b[?25h" if self._hidden else b""
        return back + b"\x1b[0m" if back else b""

    def _find_modes(self, data: bytes) -> None:
        at = data.find(_ESC)
        while at >= 0:
            at = data.find(_ESC, self._sequence(data, at))

    def _sequence(self, data: bytes, at: int) -> int:
        """Read the sequence that begins with the ESC at `at`; return where to go on."""
        kind = data[at + 1 : at + 2]
        if kind in (b"", b"[") and len(data) - at < _LONGEST and not _is_whole(data, at):
            self._rest = data[at:]
            return len(data)
        if kind in (b"=", b">"):
            self._keypad = kind == b"="
        elif kind == b"c":  # a full reset
            self._on.clear()
            self._hidden = self._keypad = False
        elif data.startswith(_PRIVATE, at):
            end = at + len(_PRIVATE)
            while end < len(data) and data[end] in b"0123456789;":
                end += 1
            if data[end : end + 1] in (b"h", b"l"):
                self._switch(data[at + len(_PRIVATE) : end], on=data[end : end + 1] == b"h")
        return at + 1

    def _switch(self, numbers: bytes, *, on: bool) -> None:
        for number in numbers.split(b";"):
            mode = int(number) if number and len(number) < 6 else -1
            if mode == _CURSOR:
                self._hidden = not on
            elif mode in _SCREENS:  # whichever number it was left by, there is one second screen
                self._on = (self._on - _SCREENS) | ({mode} if on else set())
            elif mode in _KNOWN:
                self._on = self._on | {mode} if on else self._on - {mode}

    def _find_line(self, data: bytes) -> None:
        newline = data.rfind(b"\n")
        line = data[newline + 1 :][-_LINE:]
        if newline >= 0:
            self.fresh = True
        erased, seen = _looked_through(line)
        if seen:
            self.fresh = False
        elif erased:
            self.fresh = True


def _is_whole(data: bytes, at: int) -> bool:
    """Whether the sequence at `at` has its last byte."""
    if at + 1 >= len(data):
        return False
    return any(0x40 <= byte <= 0x7E for byte in data[at + 2 : at + 2 + _LONGEST])


def _looked_through(line: bytes) -> tuple[bool, bool]:
    """Whether a line was erased, and whether anything was printed on it afterwards."""
    if _ESC not in line:
        return False, any(byte >= 0x20 for byte in line)
    erased = seen = False
    at = 0
    while at < len(line):
        byte = line[at]
        if byte != _ESC:
            seen = seen or byte >= 0x20
            at += 1
            continue
        end = _behind(line, at)
        if line[at : at + 2] == b"\x1b[" and line[end - 1 : end] in (b"K", b"J"):
            whole = line[at + 2 : end - 1] in (b"2", b"3") or line[:at].endswith(b"\r")
            erased, seen = erased or whole, seen and not whole
        at = end
    return erased, seen


def _behind(line: bytes, at: int) -> int:
    """The index behind the sequence that begins at `at`, or behind the line."""
    kind = line[at + 1 : at + 2]
    if kind == b"[":
        at += 2
        while at < len(line) and not 0x40 <= line[at] <= 0x7E:
            at += 1
        return min(at + 1, len(line))
    if kind in (b"]", b"P", b"X", b"^", b"_"):
        ends = [found for found in (line.find(b"\x07", at), line.find(b"\x1b\\", at + 1)) if found >= 0]
        return min(ends) + (1 if line[min(ends)] == 7 else 2) if ends else len(line)
    return min(at + 2, len(line))
