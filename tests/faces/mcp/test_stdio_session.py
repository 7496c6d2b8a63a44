"""One client on a pair of pipes: what it is told of calls that it has taken back, and of those in flight at the end."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp.raw import INITIALIZE
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.stdio_session import StdioSession
from unhang.faces.mcp.stdio_streams import LineInput, LineOutput


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))
    return Backend(Settings())


class HeldServer(Server):
    """Its requests take until `go_on`, in a thread that is not abandoned."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.begun, self.go_on = threading.Event(), threading.Event()

    async def serve(self, call: McpCall, method: str, params: dict[str, Any]) -> dict[str, Any]:
        del call, method, params
        return await self.backend.in_thread(self._work)

    def _work(self) -> dict[str, Any]:
        self.begun.set()
        assert self.go_on.wait(60)
        return {}


def say(fd: int, *messages: dict[str, Any]) -> None:
    os.write(fd, b"".join(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n" for message in messages))


LISTS = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n' * 40
PINGS = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n' * 5000
NO_MESSAGES = b"5\n" * 5000


@pytest.mark.parametrize("asked", [LISTS, PINGS, NO_MESSAGES], ids=["lists", "pings", "no messages"])
def test_a_client_that_reads_nothing_does_not_hold_the_end(backend: Backend, asked: bytes) -> None:
    def ask(asks: int) -> None:
        say(asks, INITIALIZE)
        with os.fdopen(asks, "wb") as stream:
            stream.write(asked)

    async def work() -> None:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = LineOutput(said, patience=0.01)
        threading.Thread(target=ask, args=(asks,), daemon=True).start()  # there is more than a pipe takes
        async with asyncio.timeout(60):
            await StdioSession(Server(backend), output).run(LineInput(heard, output))
            await output.close()
        assert os.read(answers, 1)  # the pipe was full, and not closed
        for fd in (heard, answers, said):
            os.close(fd)

    asyncio.run(work())


def test_a_request_that_was_taken_back_is_not_answered_though_its_work_is_finished(backend: Backend) -> None:
    server = HeldServer(backend)

    async def work() -> list[Any]:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = LineOutput(said)
        running = asyncio.create_task(StdioSession(server, output).run(LineInput(heard, output)))
        say(asks, INITIALIZE, {"id": 2, "method": "tools/list"})
        assert await asyncio.to_thread(server.begun.wait, 60)
        say(asks, {"method": "notifications/cancelled", "params": {"requestId": 2}})
        os.close(asks)
        await running
        server.go_on.set()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=60)
        await output.close()
        os.close(said)
        with os.fdopen(answers, "rb") as lines:
            found = [json.loads(line)["id"] for line in lines]
        os.close(heard)
        return found

    assert asyncio.run(work()) == [1]
