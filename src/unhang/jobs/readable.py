"""A descriptor that a task of an event loop waits for: inotify's, say."""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# A job whose keeper was killed writes nothing more, so a waiting caller has to look for itself.
CHECK = 1.0
# Where inotify cannot be had.
NAP = 0.05


class Readable:
    """Lets a task wait until a descriptor is readable. Without one (-1), every wait is a nap."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._event = asyncio.Event()

    async def wait(self, seconds: float = CHECK) -> None:
        """Return when the descriptor is readable, at the next check, or when the time is over."""
        try:
            await asyncio.wait_for(self._event.wait(), min(seconds, CHECK if self._fd >= 0 else NAP))
        except TimeoutError:
            pass

    def clear(self) -> None:
        """Forget that it was readable; what the descriptor holds is for the caller to read."""
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
