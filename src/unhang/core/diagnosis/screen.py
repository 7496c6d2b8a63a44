"""The last line on the screen: what a prompt asks.

A prompt is a line without an end. Programs dress it with colours, cursor movements, carriage returns and
backspaces; all of that is removed, and every other control character too, because the line is shown to people
and put into logs.
"""

from __future__ import annotations

import re

MOST = 200
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[P^_X][^\x1b]*\x1b\\"  # DCS and kin
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
    r"|\x1b"  # cut off at the end of what we were given
)
_TO_LINE_START = re.compile(r"\x1b\[(?:2K|1?G)")
_CURSOR_AWAY = re.compile(r"\x1b\[[0-9;]*[HfABEF]")
_SECOND_SCREEN = "\x1b[?1049h"
# A sequence that moves the cursor or erases, one that draws nothing, or one character.
_DRAWN = re.compile(rf"\x1b\[(?P<numbers>[0-9;]*)(?P<end>[A-HJKdf])|(?:{_ESCAPES.pattern})|(?P<char>[\s\S])")
# What ends a question: "Password:", "Overwrite? [y/N]", "sqlite>", "(END)", "$ ", "Press any key to continue".
_QUESTION = re.compile(
    r"[?:>$#%»❯›\])…]\s*$|\by/n\b|\byes/no\b|passw|passphrase|press (?:any|enter|return|a key)|\(END\)",
    re.IGNORECASE,
)


def last_line(screen: str) -> str:
    """Return the last line with something on it, without control characters; empty where there is none."""
    # A jump of the cursor begins a new line as far as reading goes.
    text = _CURSOR_AWAY.sub("\n", screen)
    text = _ESCAPES.sub("", _TO_LINE_START.sub("\r", text)).replace("\r\n", "\n")
    for line in reversed(text.split("\n")):
        shown = "".join(char for char in _overwritten(line).replace("\t", " ") if char.isprintable()).strip()
        if shown:
            return shown[-MOST:]
    return ""


def _overwritten(line: str) -> str:
    """Carriage returns start the line again, backspaces take the last character back."""
    parts = [part for part in line.split("\r") if part]
    kept = parts[-1] if parts else ""
    while "\b" in kept:
        at = kept.index("\b")
        kept = kept[: max(0, at - 1)] + kept[at + 1 :]
    return kept


def unfinished(screen: str) -> bool:
    """Return whether the cursor stands behind something: the line was not ended, as in every prompt."""
    text = _ESCAPES.sub("", screen).rstrip(" \x00\x07")
    return bool(text) and text[-1] not in "\n\r"


def full_screen(screen: str) -> bool:
    """Return whether the program has switched to the second screen and not back, as editors and pagers do."""
    return screen.rfind("\x1b[?1049h") > screen.rfind("\x1b[?1049l")


def line_at_cursor(screen: str) -> str:
    """Return what stands on the cursor's line of a program that fills the screen; empty where nothing does.

    tmux and screen draw a line of their own last, with a clock, and put the cursor back where the program inside waits.
    The size of the screen is not known, so that nothing scrolls: those programs name the place of whatever they draw.
    """
    rows: dict[int, dict[int, str]] = {}
    row = column = 0
    for part in _DRAWN.finditer(screen[max(0, screen.rfind(_SECOND_SCREEN)) :]):
        end, char = part["end"], part["char"]
        if end is not None:
            first, second = (int(number[:4] or 0) for number in f"{part['numbers']};;".split(";")[:2])
            rows = _erased(rows, end, first, row, column)
            row, column = _moved(end, first, second, row, column)
        elif char == "\r":
            column = 0
        elif char == "\n":
            row += 1
        elif char == "\b":
            column = max(0, column - 1)
        elif char is not None and char.isprintable():
            rows.setdefault(row, {})[column] = char
            column += 1
    line = rows.get(row, {})
    return "".join(line.get(place, " ") for place in range(max(line, default=-1) + 1)).strip()[-MOST:]


def _moved(end: str, first: int, second: int, row: int, column: int) -> tuple[int, int]:
    """Return where a sequence with these numbers puts the cursor."""
    count = max(1, first)
    place = {
        "H": (count - 1, max(1, second) - 1),
        "f": (count - 1, max(1, second) - 1),
        "A": (row - count, column),
        "B": (row + count, column),
        "C": (row, column + count),
        "D": (row, column - count),
        "E": (row + count, 0),
        "F": (row - count, 0),
        "G": (row, count - 1),
        "d": (count - 1, column),
    }.get(end, (row, column))
    return max(0, place[0]), max(0, place[1])


def _erased(rows: dict[int, dict[int, str]], end: str, what: int, row: int, column: int) -> dict[int, dict[int, str]]:
    """Return the rows without what a sequence erases: J of the screen, K of the line, from the cursor on by default."""
    if end not in "JK":
        return rows
    kept = {place: char for place, char in rows.get(row, {}).items() if place < column and what == 0}
    if end == "K":
        return {**rows, row: kept}
    return {**{place: line for place, line in rows.items() if place < row and what == 0}, row: kept}


def looks_like_a_question(line: str) -> bool:
    """Return whether a line ends as questions and prompts do."""
    return bool(_QUESTION.search(line))
