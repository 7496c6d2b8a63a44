"""Breaks a line for people into lines of a terminal, by words and by the cells that characters take."""

from __future__ import annotations

# A narrower terminal is not written for: words would come apart more often than not.
NARROWEST = 20


def wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    """Return lines of at most `width` cells; all but the first begin with `indent`. Only a longer word is broken."""
    width = max(NARROWEST, width)
    lines: list[str] = []
    line, used = "", 0
    for word in text.split():
        room = width if not lines else width - len(indent)
        size = cells(word)
        if line and used + 1 + size <= room:
            line, used = f"{line} {word}", used + 1 + size
            continue
        if line:
            lines.append(line)
            line, used = "", 0
            room = width - len(indent)
        while size > room:
            part = _fitting(word, room)
            lines.append(part)
            word = word[len(part) :]
            size, room = cells(word), width - len(indent)
        line, used = word, size
    lines += [line] if line else []
    return lines[:1] + [indent + line for line in lines[1:]]


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for a wide character, none for one that joins the one
    before.
    """
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _fitting(word: str, room: int) -> str:
    taken = 0
    for at, char in enumerate(word):
        taken += cells(char)
        if taken > room and at:
            return word[:at]
    return word
