"""Terminals in a client of the official SDK, driven over the wire by an agent of the official SDK."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp.schema import ClientCapabilities, TextContentBlock

from acp import Client, connect_to_agent
from tests.support.acp.harness import here, pulse, run
from tests.support.engine import actor
from tests.support.places import ROOT, SUPPORT
from unhang.acp import Terminals
from unhang.testing.liveness import RollCall

AGENT = SUPPORT / "acp" / "sdk_agent.py"
UNKNOWN = [-32602] * 4


class MyClient(Client):
    """As anybody would write it, with no word about terminals."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002 - the SDK's names
        self.said.append(json.loads(update.content.text))


@asynccontextmanager
async def an_agent() -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    pipe = asyncio.subprocess.PIPE
    # a line may hold everything that a terminal shows
    process = await asyncio.create_subprocess_exec(sys.executable, str(AGENT), stdin=pipe, stdout=pipe, limit=1 << 27)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdin, process.stdout
    finally:
        process.stdin.close()
        await process.wait()


class Talk:
    def __init__(self, client: MyClient, connection: Any, terminals: Terminals) -> None:
        self._client = client
        self._connection = connection
        self.terminals = terminals
        self.session = ""

    async def begin(self) -> None:
        await self._connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities(terminal=True))
        self.session = (await self._connection.new_session(cwd="/", mcp_servers=[])).session_id

    async def do(self, name: str, **more: Any) -> dict[str, Any]:
        text = json.dumps({"do": name} | more)
        answer = await self._connection.prompt(
            prompt=[TextContentBlock(type="text", text=text)], session_id=self.session
        )
        assert answer.stop_reason == "end_turn"
        found = self._client.said.pop()
        assert isinstance(found, dict)
        return found


@asynccontextmanager
async def talk(**options: Any) -> AsyncIterator[Talk]:
    client = MyClient()  # type: ignore[abstract]  # the SDK asks only for what is used
    async with an_agent() as (writer, reader), Terminals(**options) as terminals:
        connection = connect_to_agent(terminals.mount(client), writer, reader)
        try:
            found = Talk(client, connection, terminals)
            await found.begin()
            yield found
        finally:
            await connection.close()


def test_the_three_lines_of_the_documentation_are_all_it_takes() -> None:
    """The very text of docs/acp.md, run."""
    block = re.search(
        r"```python needs=client\n(.*?)```", (ROOT / "docs" / "acp.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert block is not None
    lines = block[1]
    assert len([line for line in lines.splitlines() if line.strip()]) == 3
    code = f"async def mounted(connect_to_agent, MyClient, writer, reader):\n{textwrap.indent(lines, '    ')}"
    names: dict[str, Any] = {}
    exec(f"{code.rstrip()}\n        yield connection, terminals\n", names)
    client = MyClient()  # type: ignore[abstract]  # the SDK asks only for what is used

    async def work() -> None:
        async with an_agent() as (writer, reader):
            async for connection, terminals in names["mounted"](connect_to_agent, lambda: client, writer, reader):
                found = Talk(client, connection, terminals)
                await found.begin()
                got = await found.do("pattern", command=["echo", "three lines"], timeout=60)
                assert (got["output"], got["exit"]) == ("three lines\n", [0, None])
                await connection.close()

    run(work())


def test_the_timeout_pattern_ends_what_ignores_sigterm_and_what_hides(roll: RollCall) -> None:
    async def work() -> None:
        async with talk(grace=0.3) as agent, pulse() as loop:
            for name in ("ignore_term", "double_fork"):
                got = await agent.do("pattern", command=actor(name, roll.path), timeout=5)
                assert got["timedOut"]
                assert (got["exit"], got["same"]) == ([None, "SIGKILL"], True)
                assert got["output"] == "ready\n"
                assert got["afterwards"] == UNKNOWN
                assert roll.is_empty()
            assert loop.longest < 2

    run(work())


def test_a_hundred_megabytes_leave_the_loop_free_and_their_end_is_kept() -> None:
    line = "0123456789abcdef" * 6 + "abc"  # 100 bytes with its newline
    flood = ["sh", "-c", f"yes {line} | head -c 100000000; echo the-end"]

    async def work() -> None:
        async with talk() as agent, pulse() as loop:
            got = await agent.do("pattern", command=flood, timeout=60, limit=1 << 20)
            assert (got["timedOut"], got["exit"], got["truncated"]) == (False, [0, None], True)
            assert len(got["output"]) == 1 << 20
            assert got["output"].endswith(f"{line}\nthe-end\n")
            assert set(got["output"].split("\n")[1:-2]) == {line}
            small = await agent.do("pattern", command=flood, timeout=60, limit=11)
            assert (small["output"], small["truncated"]) == ("bc\nthe-end\n", True)
            assert loop.longest < 2

    run(work())


def test_kill_during_wait_from_eight_waiters(roll: RollCall) -> None:
    async def work() -> None:
        async with talk(grace=0.3) as agent, pulse() as loop:
            got = await agent.do("eight_waiters", command=actor("ignore_term", roll.path))
            assert got["ends"] == [[None, "SIGKILL"]] * 8
            assert got["kills"] == [None] * 3
            assert got["killOfAnEndedOne"] is None, "succeeds"
            assert got["release"] == [None, -32602]
            assert loop.longest < 2
            assert roll.is_empty()

    run(work())


def test_an_output_limit_cuts_no_character_in_two() -> None:
    """13 bytes; the pure part is tested over any bytes."""
    wanted = {0: "", 1: "", 2: "", 3: "€", 9: "β€€", 10: "αβ€€", 11: "αβ€€", 12: "αβ€€", 13: "€αβ€€", None: "€αβ€€"}

    async def work() -> None:
        async with talk() as agent:
            for limit, shown in wanted.items():
                got = await agent.do("pattern", command=["printf", "€αβ€€"], timeout=60, limit=limit)
                assert (limit, got["output"], got["truncated"]) == (limit, shown, shown != "€αβ€€")

    run(work())


def test_an_unknown_id_is_invalid_params() -> None:
    async def work() -> None:
        async with talk() as agent:
            assert (await agent.do("codes", terminal="never-made"))["codes"] == UNKNOWN

    run(work())


def test_a_shell_line_has_its_surroundings_and_both_streams_are_one(tmp_path: Path) -> None:
    async def work() -> None:
        async with talk() as agent:
            got = await agent.do("surroundings", cwd=str(tmp_path))
            assert got == {"output": f"{tmp_path}\ngrün\nover\n", "exit": 0}

    run(work())


def test_a_terminal_outlives_its_turn_but_not_its_session(roll: RollCall) -> None:
    async def work() -> None:
        async with talk(grace=0.3) as agent:
            left = await agent.do("leave", command=actor("obedient", roll.path))
            process = await here(roll)
            assert (await agent.do("pattern", command=["true"], timeout=60))["exit"] == [0, None]
            assert process.is_alive()
            assert agent.terminals.state(agent.session, left["id"]) == "running"
            await agent.terminals.end_session(agent.session)
            assert not process.is_alive()
            assert (await agent.do("codes", terminal=left["id"]))["codes"] == UNKNOWN

    run(work())


def test_a_limit_that_ends_a_command_is_told_to_the_agent_in_its_output() -> None:
    """An agent reads nothing but the output; what the protocol has no words for is in `_meta`."""

    async def work() -> None:
        async with talk(grace=0.3) as agent:
            got = await agent.do("limited", command=["sh", "-c", "echo begun; exec sleep 60"])
            assert got["created"]["unhang"]["limits"]["hardMs"] == {"value": 1000, "source": "argument"}
            assert got["end"]["unhang"]["state"] == "timed_out"
            assert got["end"]["unhang"]["timeoutReason"] == "exec_timeout"
            assert got["end"]["unhang"]["diagnosis"]["state"]
            assert got["output"].startswith("begun\n\n[unhang: ")
            assert "hard limit 1s" in got["output"]
            assert got["signal"] == "SIGTERM"

    run(work())


def test_a_wait_may_have_a_timeout_and_a_kill_a_signal() -> None:
    """As extension fields: nothing is ended by the wait, and the command sees the signal that the agent chose."""
    trapping = "trap 'echo int; exit 9' INT; trap 'echo term; exit 8' TERM; echo up; while :; do sleep 0.1; done"

    async def work() -> None:
        async with talk() as agent:
            for signal, code, word in (("SIGINT", 9, "int"), ("SIGTERM", 8, "term"), ("SIGKILL", None, "up")):
                got = await agent.do("extensions", command=["sh", "-c", trapping], signal=signal)
                assert got["early"] == [None, None, "running"]
                assert got["end"] == [code, None if code else "SIGKILL", "killed"]
                assert got["output"].splitlines()[-1] == word

    run(work())
