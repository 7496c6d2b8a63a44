"""What is made once in a process, when it is first needed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Made = TypeVar("Made")


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return a function that calls `make` once, and returns what it made then every time.

    So does `functools.cache`, whose module takes as long to load as ten of ours, and every keeper would load it.
    """
    made: list[Made] = []

    def get() -> Made:
        if not made:
            made.append(make())
        return made[0]

    get.__doc__ = make.__doc__
    return get
