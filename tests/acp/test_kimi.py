"""Kimi Code from npm, which really runs its commands in the client's terminals, against a model on 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    RequestPermissionResponse,
    TextContentBlock,
)

from acp import Client, connect_to_agent
from tests.support.acp.harness import run
from tests.support.acp_agents import programs
from tests.support.engine import MARK, actor
from tests.support.fakes.acp_models import FakeModels
from tests.support.jobs import Jobs
from unhang.acp import Terminals
from unhang.testing.liveness import RollCall

CALLS = ("create_terminal", "wait_for_terminal_exit", "terminal_output", "kill_terminal", "release_terminal")


@pytest.fixture
def fake() -> Iterator[FakeModels]:
    with FakeModels() as fake:
        yield fake


class Allowing(Client):
    def __init__(self) -> None:
        self.said: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002 - the SDK's names
        if getattr(update, "session_update", "") == "agent_message_chunk":
            self.said.append(update.content.text)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:  # noqa: ARG002
        for option in options:
            if option.kind == "allow_once":
                return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


class Noting(Terminals):
    """Which of the methods were called, in order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.calls: list[str] = []
        self.asked = asyncio.Event()

    async def handle(self, method: str, params: Any) -> dict[str, Any]:
        self.calls.append(method)
        self.asked.set()
        return await super().handle(method, params)

    async def release(self, session: str, terminal_id: str) -> None:
        self.calls.append("terminal/release")
        await super().release(session, terminal_id)


class Kimi:
    def __init__(self, client: Allowing, connection: Any, terminals: Noting, session: str) -> None:
        self.client = client
        self.connection = connection
        self.terminals = terminals
        self.session = session

    async def prompt(self, text: str) -> str:
        answer = await self.connection.prompt(
            prompt=[TextContentBlock(type="text", text=text)], session_id=self.session
        )
        return str(answer.stop_reason)


@asynccontextmanager
async def kimi(tmp_path: Path, fake: FakeModels, jobs: Jobs, **options: Any) -> AsyncIterator[Kimi]:
    started = programs.start("kimi", tmp_path, fake)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *started.argv,
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env=started.env | {MARK: jobs.mark},
        cwd=workspace,
        limit=1 << 26,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = Allowing()  # type: ignore[abstract]  # the SDK asks only for what is used
    async with Noting(**options) as terminals:
        connection = connect_to_agent(terminals.mount(client), process.stdin, process.stdout)
        try:
            await connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities(terminal=True))
            session = await connection.new_session(cwd=str(workspace), mcp_servers=[])
            yield Kimi(client, connection, terminals, session.session_id)
        finally:
            process.stdin.close()
            try:
                async with asyncio.timeout(10):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
            await connection.close()


def test_kimi_runs_its_commands_in_our_terminals(tmp_path: Path, fake: FakeModels, jobs: Jobs) -> None:
    async def work() -> None:
        async with kimi(tmp_path, fake, jobs) as agent:
            assert await agent.prompt("[[shell:echo out; echo err >&2; exit 3]]") == "end_turn"
            assert agent.terminals.calls[0] == "terminal/create"
            assert "terminal/wait_for_exit" in agent.terminals.calls
            assert agent.terminals.calls[-1] == "terminal/release"
            assert not agent.terminals._terminals
            assert "out" in fake.results[-1]
            assert "err" in fake.results[-1]
        found = jobs.handle(jobs.jobs()[0].id).result()
        assert (found.exit_code, found.stdout) == (3, "out\nerr\n")

    run(work())


def test_a_turn_that_is_cancelled_kills_what_kimi_runs(
    tmp_path: Path, fake: FakeModels, jobs: Jobs, roll: RollCall
) -> None:
    line = " ".join(actor("double_fork", roll.path))

    async def work() -> None:
        async with kimi(tmp_path, fake, jobs, grace=0.3) as agent:
            turn = asyncio.ensure_future(agent.prompt(f"[[shell:{line}]]"))
            await asyncio.to_thread(roll.wait_for, "leader")
            await asyncio.to_thread(roll.wait_for, "member")
            await agent.connection.cancel(session_id=agent.session)
            assert await turn == "cancelled"
            while agent.terminals._terminals:  # it releases when its turn is over; nobody says when
                await asyncio.sleep(0.02)
            assert "terminal/kill" in agent.terminals.calls
            assert agent.terminals.calls[-1] == "terminal/release"
            assert roll.wait_empty()

    run(work())


def test_a_command_of_kimis_that_hangs_is_ended_by_its_limit_and_the_turn_goes_on(
    tmp_path: Path, fake: FakeModels, jobs: Jobs, roll: RollCall
) -> None:
    line = " ".join(actor("ignore_term", roll.path))

    async def work() -> None:
        async with kimi(tmp_path, fake, jobs, hard=5, warn=0, grace=0.3) as agent:
            assert await agent.prompt(f"[[shell:{line}]]") == "end_turn"
            assert "hard limit 5s" in fake.results[-1], "the model is told why"
            assert "SIGKILL" in fake.results[-1]
            assert roll.is_empty()

    run(work())
