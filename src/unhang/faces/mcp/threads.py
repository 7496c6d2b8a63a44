"""Work in threads for an event loop: what was begun is finished, or is left to itself, as the caller says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

_Answer = TypeVar("_Answer")
# Short work on files and sockets; fifty calls at once must not wait for each other's.
MOST_THREADS = 64


class Threads(Protocol):
    """How the calls of a server get their work done beside its event loop."""

    async def finish(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is not abandoned when the call is cancelled."""

    async def loose(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is abandoned when the call is cancelled."""

    async def shielded(self, work: Awaitable[_Answer]) -> _Answer:
        """Wait for something to its end although the call is cancelled."""


class LoopThreads:
    """Threads for tasks that are cancelled once, as asyncio does it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST_THREADS, "work")
        self._loose = ThreadPoolExecutor(MOST_THREADS, "look")

    async def finish(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is not abandoned when the call is cancelled."""
        return await self.shielded(asyncio.get_running_loop().run_in_executor(self._pool, work))

    async def loose(self, work: Callable[[], _Answer]) -> _Answer:
        """Run work that is abandoned when the call is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._loose, work)

    async def shielded(self, work: Awaitable[_Answer]) -> _Answer:
        """Wait for something to its end although the call is cancelled, and return it.

        The cancellation is told at the next await: a job that was started meanwhile is known then, and can be ended.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([task])
            caller = asyncio.current_task()
            assert caller is not None
            caller.cancel()
            return task.result()


def bind(work: Callable[..., _Answer], args: tuple[Any, ...], options: dict[str, Any]) -> Callable[[], _Answer]:
    """Return the work with its arguments."""
    return partial(work, *args, **options) if args or options else work
