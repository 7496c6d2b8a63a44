"""Recognises a program that has failed because it asked, and nothing could answer: its stdin was at its end, or it
wanted a terminal."""

from __future__ import annotations

import re

from unhang.core.diagnosis.screen import last_line, unfinished

# What could have answered it.
INPUT, TERMINAL = "input", "terminal"

_END = 2000
_WANTS_TERMINAL = re.compile(
    r"a terminal is required|\bnot a tty\b|\bnot a terminal\b|terminal prompts disabled|no tty present"
    r"|Can not control echo on the terminal|/dev/tty: No such device|can't open /dev/tty",
    re.IGNORECASE,
)
# A parser has an "unexpected end of file", too: that alone is no question.
_READ_NOTHING = re.compile(r"EOFError: EOF when reading a line")
_END_OF_FILE = re.compile(r"\bEOF(?:Error)?\b|\bend[ -]of[ -](?:file|input|stream)\b", re.IGNORECASE)
# What a question ends with. Fewer than a prompt may: this one is seen afterwards, and proved by nothing.
_ASKS = re.compile(r"[?:>]$|\([^()]{1,40}\)$|\[[^\[\]]{1,40}\]$")


def would_have_helped(stdout: str, stderr: str) -> tuple[str, str] | None:
    """Return what a program that failed would have needed, INPUT or TERMINAL, and what it asked ("" where that is not
    known); None where nothing shows that it asked.

    The texts are the ends of its streams.
    """
    stdout, stderr = stdout[-_END:], stderr[-_END:]
    asked = next((last_line(end) for end in (stdout, stderr) if _is_question(end)), "")
    if _WANTS_TERMINAL.search(stderr):
        return TERMINAL, asked
    silent = not stderr.strip() or _is_question(stderr)
    if _READ_NOTHING.search(stderr) or (asked and (silent or _END_OF_FILE.search(stderr))):
        return INPUT, asked
    return None


def _is_question(end: str) -> bool:
    return unfinished(end) and bool(_ASKS.search(last_line(end)))
