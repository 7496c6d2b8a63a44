"""Calls by the official TypeScript client: one in a process of its own, or many on one connection."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.support import programs
from tests.support.engine import Engine
from tests.support.mcp.harness import PATIENCE, Reply, Servers

CLIENT = Path(__file__).resolve().parent / "client.mjs"
SESSION = Path(__file__).resolve().parent / "session.mjs"


def begin(engine: Engine, timeout: str, tool: str, **arguments: Any) -> subprocess.Popen[bytes]:
    words = [str(programs.NODE), str(CLIENT), str(programs.SDK), timeout, tool, json.dumps(arguments)]
    server = Servers(engine).command()
    return subprocess.Popen([*words, *server], env=engine.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    try:
        out, error = process.communicate(timeout=150)
    finally:
        process.kill()
    assert process.returncode == 0, error.decode()
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


class TypeScriptCaller:
    """A connected TypeScript client. Calls may be made at the same time."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self._process = process
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._waiting: dict[int, anyio.Event] = {}
        self._server: int | None = None
        self._connected = anyio.Event()

    async def server(self) -> int:
        """The pid of the server that the client has started."""
        with anyio.fail_after(PATIENCE):
            await self._connected.wait()
        assert self._server is not None
        return self._server

    async def call(self, tool: str, /, **arguments: Any) -> Reply:
        answer = await self._answer(await self.begin(tool, **arguments))
        assert "result" in answer, answer
        found = answer["result"]
        text = "\n".join(part["text"] for part in found["content"] if part["type"] == "text")
        return Reply(bool(found.get("isError")), text, found.get("structuredContent") or {})

    async def begin(self, tool: str, /, **arguments: Any) -> int:
        """Make a call and return its number, without waiting for its answer."""
        self._number += 1
        number = self._number  # another call may begin while this one is being said
        self._waiting[number] = anyio.Event()
        await self._say({"id": number, "tool": tool, "arguments": arguments})
        return number

    async def abort(self, number: int) -> None:
        """Cancel a call."""
        await self._say({"abort": number})

    async def failure(self, number: int) -> str:
        """Why the client has given up a call."""
        answer = await self._answer(number)
        assert "failure" in answer, answer
        return str(answer["failure"])

    async def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send(json.dumps(message).encode() + b"\n")

    async def _answer(self, number: int) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            await self._waiting[number].wait()
        return self._answers[number]

    async def listen(self) -> None:
        assert self._process.stdout is not None
        lines = BufferedByteReceiveStream(self._process.stdout)
        while True:
            try:
                line = await lines.receive_until(b"\n", 1 << 22)
            except (anyio.IncompleteRead, anyio.EndOfStream):
                return
            answer = json.loads(line)
            if "server" in answer:
                self._server = answer["server"]
                self._connected.set()
                continue
            self._answers[answer["id"]] = answer
            self._waiting[answer["id"]].set()


@asynccontextmanager
async def connected(servers: Servers, *options: str) -> AsyncIterator[TypeScriptCaller]:
    """A TypeScript client with a server of its own."""
    programs.need(programs.NODE, programs.SDK)
    words = [str(programs.NODE), str(SESSION), str(programs.SDK), *servers.command(*options)]
    async with await anyio.open_process(
        words, env=servers.engine.env, cwd=servers.engine.folder, stderr=None
    ) as process:
        caller = TypeScriptCaller(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(caller.listen)
            yield caller
            assert process.stdin is not None
            await process.stdin.aclose()
