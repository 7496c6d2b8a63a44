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


def looks_like_a_question(line: str) -> bool:
    """Return whether a line ends as questions and prompts do."""
    return bool(_QUESTION.search(line))
