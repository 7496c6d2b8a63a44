"""Forks a keeper that waits for its job; loads nothing but what that takes, so that it can be done first of all."""

from __future__ import annotations

import os

from unhang.errors import UnhangError
from unhang.keeper.prefork import spare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.keeper.prefork.spare import Spare

# The keeper has up to 20 open while it starts a job, and needs two or three to look at it.
FEWEST_DESCRIPTORS = 20
# What is needed to hand a job to its keeper, two descriptors each.
_FREE_PIPES = 3


def fork_spare(in_child: Callable[[], None] | None = None) -> Spare:
    """Fork a guard and a keeper that wait (`spare.make`), for a process with one thread. Raises UnhangError."""
    try:
        return spare.make(in_child)
    except OSError as error:
        raise UnhangError(f"cannot start the keeper: {error.strerror}") from None


def check_descriptors() -> None:
    """Refuse to start with too few descriptors: the keeper would fail on its way, and could not even say so."""
    limit = os.sysconf("SC_OPEN_MAX")
    if 0 <= limit < FEWEST_DESCRIPTORS:
        raise UnhangError(f"too few file descriptors: {limit}; at least {FEWEST_DESCRIPTORS} are needed (ulimit -n)")
    opened: list[int] = []
    try:
        for _ in range(_FREE_PIPES):
            opened += os.pipe()
    except OSError as error:
        raise UnhangError(f"too few file descriptors are left of {limit} (ulimit -n): {error.strerror}") from None
    finally:
        for fd in opened:
            os.close(fd)
