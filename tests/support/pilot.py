"""Waiting in a story that Textual's pilot plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot

PATIENCE = 60.0


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the app go on until it shows what is waited for."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not come"
        await pilot.pause(0.05)
