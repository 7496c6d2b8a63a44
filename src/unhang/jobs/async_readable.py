"""Waiting in an event loop for a descriptor that wakes its reader: inotify's, say."""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Protocol

    class Source(Protocol):
        """Something that makes a descriptor readable when there may be something new."""

        @property
        def fd(self) -> int:
            """Return the descriptor; -1 where there is none."""

        def clear(self) -> None:
            """Forget what woke it."""


# A job whose keeper was killed writes nothing more, so a waiting caller has to look for itself.
CHECK = 1.0
# Where inotify cannot be had.
NAP = 0.05


class Readable:
    """Lets a task wait until a source is readable. Where it has no descriptor, every wait is a nap."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._fd = source.fd
        self._event = asyncio.Event()

    async def wait(self, seconds: float = CHECK) -> None:
        """Return when the source is readable, at the next check, or when the time is over; then clear the source."""
        try:
            await asyncio.wait_for(self._event.wait(), min(seconds, CHECK if self._fd >= 0 else NAP))
        except TimeoutError:
            pass
        self._source.clear()
        self._event.clear()

    async def __aenter__(self) -> Readable:
        if self._fd >= 0:
            asyncio.get_running_loop().add_reader(self._fd, self._event.set)
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
