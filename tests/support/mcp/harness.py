"""Drives the real `unhang mcp` with the official client, over stdio or HTTP."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeVar

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, LoggingMessageNotificationParams, TextContent

from tests.support.engine import Engine
from unhang.jobs.handle import Job
from unhang.store.layout import JobDir

_Answer = TypeVar("_Answer")

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
# Far more than a loaded machine needs; a call that takes longer does not come.
PATIENCE = 60.0


class Reply(NamedTuple):
    """What a tool answered."""

    error: bool
    text: str
    data: dict[str, Any]


class Said(NamedTuple):
    level: str
    logger: str | None
    data: dict[str, Any]


class Caller:
    """A connected client; notifications are collected."""

    def __init__(self, client: Client, said: list[Said]) -> None:
        self.client = client
        self.said = said
        self.progress: list[tuple[float, float | None, str | None]] = []

    async def call(self, tool: str, /, meta: dict[str, Any] | None = None, **arguments: Any) -> Reply:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, total, message))

        given: Any = meta
        with anyio.fail_after(PATIENCE):
            found = await self.client.call_tool(tool, arguments, progress_callback=heard, meta=given)
        return reply(found)


def reply(found: CallToolResult) -> Reply:
    text = "\n".join(part.text for part in found.content if isinstance(part, TextContent))
    return Reply(bool(found.is_error), text, found.structured_content or {})


class Servers:
    """Servers of one test, all with its state directory."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "unhang", "mcp", *options]

    def run(self, era: str, work: Callable[[Caller], Awaitable[_Answer]], *options: str) -> _Answer:
        """`work` with a client of that era, connected to a server of its own."""

        async def main() -> _Answer:
            async with self.connected(era, *options) as caller:
                return await work(caller)

        return anyio.run(main)

    @asynccontextmanager
    async def connected(self, era: str, *options: str) -> AsyncIterator[Caller]:
        command, *args = self.command(*options)
        parameters = StdioServerParameters(command=command, args=args, env=self.engine.env, cwd=self.engine.folder)
        async with connect(parameters, era) as caller:
            yield caller

    def popen(self, *options: str, **given: Any) -> subprocess.Popen[bytes]:
        """A server on pipes, for raw lines; ended with the test."""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        pipes |= {"env": self.engine.env, "cwd": self.engine.folder} | given
        process: subprocess.Popen[bytes] = subprocess.Popen(self.command(*options), **pipes)
        self.engine._started.append(process)
        return process

    def job(self, job_id: str) -> Job:
        return Job(JobDir(str(self.engine.home), job_id))


@asynccontextmanager
async def connect(target: Any, era: str) -> AsyncIterator[Caller]:
    said: list[Said] = []

    async def log(params: LoggingMessageNotificationParams) -> None:
        said.append(Said(params.level, params.logger, params.data))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logging is deprecated, and still what clients show
        async with Client(target, mode=era, logging_callback=log) as client:
            yield Caller(client, said)
