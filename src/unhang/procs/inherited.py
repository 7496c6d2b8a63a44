"""What a process that was just forked does with the descriptors of the process that forked it.

Every keeper loads this before it is one, so it imports nothing but the standard library.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def close_all_but(keep: Iterable[int] = ()) -> None:
    """Close every descriptor above 2 except `keep`."""
    low = 3
    for fd in sorted(fd for fd in keep if fd > 2):
        os.closerange(low, fd)
        low = fd + 1
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(low, highest if highest > 0 else 1 << 16)


def to_null(fds: range) -> None:
    """Put /dev/null in place of these descriptors."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(null, fd, inheritable=True)
    if null not in fds:
        os.close(null)
