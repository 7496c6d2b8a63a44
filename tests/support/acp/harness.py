"""Terminals in an event loop of a test's own, and a loop that is watched for being blocked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from unhang.acp import Terminals
from unhang.acp.protocol import Refused
from unhang.testing.liveness import Process, RollCall

_T = TypeVar("_T")
# Far more than a loaded machine needs.
PATIENCE = 60.0
S = "session-1"


def run(work: Coroutine[Any, Any, _T]) -> _T:
    async def bounded() -> _T:
        async with asyncio.timeout(PATIENCE):
            return await work

    return asyncio.run(bounded())


async def here(roll: RollCall, name: str = "leader") -> Process:
    return await asyncio.to_thread(roll.wait_for, name)


async def created(terminals: Terminals, command: str, *args: str, session: str = S, **more: Any) -> str:
    given = {"sessionId": session, "command": command, "args": list(args)} | more
    answer = await terminals.handle("terminal/create", given)
    return str(answer["terminalId"])


async def ask(terminals: Terminals, verb: str, terminal: str, session: str = S, **more: Any) -> dict[str, Any]:
    return await terminals.handle(f"terminal/{verb}", {"sessionId": session, "terminalId": terminal} | more)


async def refused(terminals: Terminals, verb: str, terminal: str, session: str = S, **more: Any) -> int:
    try:
        answer = await ask(terminals, verb, terminal, session, **more)
    except Refused as error:
        return error.code
    raise AssertionError(f"{verb} was answered: {answer}")


class Pulse:
    longest = 0.0


@asynccontextmanager
async def pulse() -> AsyncIterator[Pulse]:
    """How long the event loop was away at most, while this was open."""
    found = Pulse()

    async def beat() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)  # what is measured is how late this comes back
            now = time.monotonic()
            found.longest = max(found.longest, now - last)
            last = now

    task = asyncio.create_task(beat())
    try:
        yield found
    finally:
        task.cancel()
