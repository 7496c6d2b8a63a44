"""A task on its way from a job's maker to its driver: a word of the command line, or its stdin."""

from __future__ import annotations

import sys

# The kernel takes 128 KiB in one word.
LONGEST_WORD = 120_000
FROM_STDIN = "-"


def is_long(task: str) -> bool:
    return len(task.encode("utf-8", "surrogatepass")) > LONGEST_WORD


def handed_over(task: str) -> tuple[str, bytes | None]:
    """The word, and what is to be given to stdin."""
    if is_long(task) or task == FROM_STDIN:  # a task that is a dash, and not somebody's stdin
        return FROM_STDIN, task.encode("utf-8", "replace")
    return task, None


def taken(word: str) -> str:
    """What `handed_over` was given; in the driver."""
    return sys.stdin.read() if word == FROM_STDIN else word
