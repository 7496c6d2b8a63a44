"""Ending tasks. A cancellation can get lost: `asyncio.wait_for` drops one that comes with the answer (Python 3.11)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_AGAIN = 0.5


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks until each has ended; what they raise is dropped."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=_AGAIN)
        for task in done:
            if not task.cancelled():
                task.exception()
