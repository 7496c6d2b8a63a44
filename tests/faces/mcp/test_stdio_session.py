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
from unhang.faces.mcp import protocol, stdio_ends, stdio_streams
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.resources import MOST_SUBSCRIPTIONS
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.stdio_ends import ReadEnd, WriteEnd
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


ENVELOPE = {protocol.VERSION_KEY: protocol.MODERN_VERSIONS[-1], protocol.CAPABILITIES_KEY: {}}
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
        output = LineOutput(WriteEnd(said), patience=0.01)
        threading.Thread(target=ask, args=(asks,), daemon=True).start()  # there is more than a pipe takes
        async with asyncio.timeout(60):
            await StdioSession(Server(backend), output).run(LineInput(ReadEnd(heard), output))
            await output.close()
        assert os.read(answers, 1)  # the pipe was full, and not closed
        for fd in (heard, answers, said):
            os.close(fd)

    asyncio.run(work())


class MeasuredOutput(LineOutput):
    """An output that keeps how much has waited at most."""

    most = 0

    def leave(self, line: bytes) -> None:
        super().leave(line)
        self.most = max(self.most, self._end.size)


LIST = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'
PING = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n'


@pytest.mark.parametrize(("asked", "count"), [(LIST, 400), (PING, 60_000)], ids=["lists", "pings"])
def test_a_client_that_asks_on_without_reading_is_not_read_from_until_it_reads(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, asked: bytes, count: int
) -> None:
    room = 1 << 20
    monkeypatch.setattr(stdio_streams, "_MOST_UNREAD", room)

    async def work() -> int:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = MeasuredOutput(WriteEnd(said))
        session = asyncio.create_task(StdioSession(Server(backend), output).run(LineInput(ReadEnd(heard), output)))

        def ask() -> None:
            say(asks, INITIALIZE)
            with os.fdopen(asks, "wb", closefd=False) as stream:
                stream.write(asked * count)

        asking = asyncio.create_task(asyncio.to_thread(ask))
        while not output.full:
            await asyncio.sleep(0.01)
        lines = 0
        while lines < count + 1:  # every request is answered once the client reads
            lines += (await asyncio.to_thread(os.read, answers, 1 << 16)).count(b"\n")
        await asking
        os.close(asks)
        await session
        for fd in (heard, answers, said):
            os.close(fd)
        return output.most

    async def bounded() -> int:
        async with asyncio.timeout(60):
            return await work()

    assert asyncio.run(bounded()) < 4 * room


def test_a_line_that_is_too_long_is_answered_with_an_error_and_the_next_one_is_served(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_ends, "LONGEST_LINE", 10_000)

    async def work() -> list[Any]:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = LineOutput(WriteEnd(said))
        say(
            asks, INITIALIZE, {"id": 2, "method": "ping", "params": {"text": "x" * 20_000}}, {"id": 3, "method": "ping"}
        )
        os.close(asks)
        await StdioSession(Server(backend), output).run(LineInput(ReadEnd(heard), output))
        await output.close()
        os.close(said)
        with os.fdopen(answers, "rb") as lines:
            found = [json.loads(line) for line in lines]
        os.close(heard)
        return [(each["id"], each.get("error", {}).get("code")) for each in found]

    assert asyncio.run(work()) == [(1, None), (None, protocol.INVALID_REQUEST), (3, None)]


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_more_subscriptions_than_a_client_may_hold_are_refused(backend: Backend, modern: bool) -> None:
    def asked(number: int) -> dict[str, Any]:
        uri = f"unhang://jobs/{number}"
        if not modern:
            return {"id": number, "method": "resources/subscribe", "params": {"uri": uri}}
        params = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": ENVELOPE}
        return {"id": number, "method": "subscriptions/listen", "params": params}

    last = 10 + MOST_SUBSCRIPTIONS

    async def work() -> dict[str, Any]:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = LineOutput(WriteEnd(said))
        running = asyncio.create_task(StdioSession(Server(backend), output).run(LineInput(ReadEnd(heard), output)))

        def ask() -> dict[str, Any]:
            if not modern:
                say(asks, INITIALIZE)
            for number in range(10, last + 1):
                say(asks, asked(number))
            with os.fdopen(answers, "rb", closefd=False) as lines:
                return next(found for line in lines if "error" in (found := json.loads(line)))

        async with asyncio.timeout(60):
            refused = await asyncio.to_thread(ask)
            os.close(asks)
            await running
        for fd in (heard, answers, said):
            os.close(fd)
        return refused

    refused = asyncio.run(work())
    assert (refused["id"], refused["error"]["code"]) == (last, protocol.INVALID_PARAMS)


def test_a_request_that_was_taken_back_is_not_answered_though_its_work_is_finished(backend: Backend) -> None:
    server = HeldServer(backend)

    async def work() -> list[Any]:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        output = LineOutput(WriteEnd(said))
        running = asyncio.create_task(StdioSession(server, output).run(LineInput(ReadEnd(heard), output)))
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


def test_a_client_that_reads_late_hears_one_answer_to_each_request(backend: Backend) -> None:
    """It has hung up while answers wait for it, and no more than one pipe of them: the rest is still to be sent."""
    numbers = list(range(2, 22))

    async def work() -> list[dict[str, Any]]:
        (heard, asks), (answers, said) = os.pipe(), os.pipe()
        say(asks, INITIALIZE, *({"id": number, "method": "tools/list"} for number in numbers))
        os.close(asks)
        output = LineOutput(WriteEnd(said))
        await StdioSession(Server(backend), output).run(LineInput(ReadEnd(heard), output))
        reading = asyncio.create_task(asyncio.to_thread(read_to_the_end, answers))
        await output.close()
        for fd in (heard, said):
            os.close(fd)
        return await reading

    async def bounded() -> list[dict[str, Any]]:
        async with asyncio.timeout(60):
            return await work()

    assert sorted(each["id"] for each in asyncio.run(bounded())) == [INITIALIZE["id"], *numbers]


def read_to_the_end(fd: int) -> list[dict[str, Any]]:
    with os.fdopen(fd, "rb") as stream:
        return [json.loads(line) for line in stream]
