"""Work in threads, for calls that are cancelled meanwhile."""

from __future__ import annotations

import asyncio
import threading

import pytest

from unhang.faces.mcp.threads import LoopThreads


def test_what_was_begun_is_known_before_the_cancellation_is() -> None:
    begun, go_on = threading.Event(), threading.Event()
    known: list[str] = []

    def work() -> str:
        begun.set()
        assert go_on.wait(60)
        return "a job"

    async def call() -> None:
        known.append(await LoopThreads().finish(work))
        await asyncio.sleep(60)
        known.append("not cancelled")

    async def main() -> None:
        task = asyncio.create_task(call())
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(2):  # twice is no more than once
            task.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert known == ["a job"]


def test_an_error_of_the_work_is_told_although_the_call_is_cancelled() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(60)
        raise OSError("no room")

    async def main() -> None:
        task = asyncio.create_task(LoopThreads().finish(work))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(OSError, match="no room"):
            await task

    asyncio.run(main())
