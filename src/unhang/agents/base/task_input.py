"""The task of an agent as a caller gives it."""

from __future__ import annotations

import sys

FROM_STDIN = "-"


def read_task(word: str) -> str:
    """Return the task that a word of a command line stands for: itself, or what is on stdin."""
    return sys.stdin.read() if word == FROM_STDIN else word
