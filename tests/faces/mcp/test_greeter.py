"""The first answers come before the server is loaded, and are the ones that the loaded server gives."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp.raw import INITIALIZE, INITIALIZED, call
from tests.support.places import ROOT
from unhang.faces.mcp import listed_tools, protocol
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.greeter import Greeter
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import DELEGATOR, MYSHELL, Settings
from unhang.faces.mcp.stdio_ends import LONGEST_LINE, ReadEnd, WriteEnd
from unhang.faces.mcp.stdio_session import StdioSession
from unhang.faces.mcp.stdio_streams import LineInput, LineOutput

sys.path.insert(0, str(ROOT / "scripts"))

import mcp_tools

META = {protocol.VERSION_KEY: protocol.MODERN_VERSIONS[-1], protocol.CAPABILITIES_KEY: {}}


def asking(method: str, number: Any = 2, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def line_of(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"


def hello(version: str) -> dict[str, Any]:
    params: Any = INITIALIZE["params"]
    return INITIALIZE | {"params": params | {"protocolVersion": version}}


GREETED: dict[str, list[Any]] = {
    **{version: [hello(version), INITIALIZED, asking("tools/list")] for version in protocol.HANDSHAKE_VERSIONS},
    "a version of the future": [hello("2999-01-01"), asking("ping", 3), asking("tools/list", "text")],
    "the modern era": [asking("server/discover", _meta=META), asking("tools/list", 3, _meta=META)],
    "a modern version that is not spoken": [
        asking("tools/list", _meta=META | {protocol.VERSION_KEY: "2999-01-01"}),
        INITIALIZE,
        asking("tools/list", 3),
    ],
    "too early": [asking("tools/list"), asking("tools/call", 3, name="list"), INITIALIZE, INITIALIZE],
    "no messages": [b"\n", b"5\n", b"{\n", b"[]\n", b'{"jsonrpc": "2.0", "id": [], "method": "ping"}\n', INITIALIZE],
    "errors": [INITIALIZE, asking("nope"), asking("tools/call", 3), asking("initialize", 4), asking("ping", True)],
    "the wrong era": [INITIALIZE, asking("tools/list", _meta=META), asking("server/discover", 3)],
}


class Client:
    """Both ends of a pair of pipes."""

    def __init__(self) -> None:
        (heard, self.asks), (self.answers, said) = os.pipe(), os.pipe()
        self.heard, self.said = ReadEnd(heard), WriteEnd(said)

    def say(self, *messages: Any) -> None:
        os.write(self.asks, b"".join(map(line_of, messages)))

    def hang_up(self) -> None:
        os.close(self.asks)
        self.asks = -1

    def heard_so_far(self) -> list[Any]:
        os.close(self.said.fd)
        self.said.fd = -1
        with os.fdopen(self.answers, "rb", closefd=False) as stream:
            return [json.loads(line) for line in stream]

    def close(self) -> None:
        for fd in (self.heard.fd, self.asks, self.answers, self.said.fd):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.close()


@pytest.fixture
def other() -> Iterator[Client]:
    client = Client()
    yield client
    client.close()


@pytest.fixture(params=["codex", "no codex"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    program = tmp_path / "codex"
    if request.param == "codex":
        program.touch(0o755)
    monkeypatch.setenv("UNHANG_CODEX", str(program))
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))
    return Settings()


def greeter_of(client: Client, settings: Settings) -> Greeter:
    return Greeter(client.heard, client.said, lambda: listed_tools.list_tools(settings))


async def serve(client: Client, settings: Settings, greeter: Greeter | None = None) -> None:
    output = LineOutput(client.said)
    session = StdioSession(Server(Backend(settings)), output, None if greeter is None else greeter.conversation)
    await session.run(LineInput(client.heard, output))
    await output.close()


def test_the_list_that_is_written_down_is_that_of_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "home"))
    written = Path(listed_tools.PATH).read_text(encoding="utf-8")
    assert written == mcp_tools.written(tmp_path), "run: python scripts/mcp_tools.py"


@pytest.mark.parametrize("given", [{}, {"compat": True}, {"wait": 1.0, "allow_commands": ("git *",)}], ids=str)
def test_the_list_is_that_of_the_server_with_any_settings(settings: Settings, given: dict[str, Any]) -> None:
    settings = settings.replace(**given)
    assert listed_tools.list_tools(settings) == {"tools": Server(Backend(settings)).list_tools()}


@pytest.mark.parametrize("aliases", [DELEGATOR, MYSHELL])
def test_a_list_with_the_tools_of_another_server_is_left_to_the_tools(aliases: str) -> None:
    assert listed_tools.list_tools(Settings(aliases=aliases)) is None


@pytest.mark.parametrize("name", GREETED)
def test_a_client_is_greeted_as_a_session_would_answer_it(
    name: str, client: Client, other: Client, settings: Settings
) -> None:
    for each in (client, other):
        each.say(*GREETED[name])
        each.hang_up()
    greeter = greeter_of(client, settings)
    greeter.answer()
    assert greeter.client_left
    asyncio.run(serve(other, settings))
    found = client.heard_so_far()
    expected = other.heard_so_far()
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, expected))
    assert len(found) == sum(isinstance(each, bytes) or "id" in each for each in GREETED[name])


def test_what_needs_the_tools_and_all_that_follows_is_left_for_the_session(client: Client, settings: Settings) -> None:
    client.say(INITIALIZE, INITIALIZED, asking("resources/list"), asking("tools/list", 3))
    greeter = greeter_of(client, settings)
    greeter.answer()
    client.say(call(4, "list"))
    greeter.answer()
    assert not greeter.client_left
    client.hang_up()
    asyncio.run(serve(client, settings, greeter))
    found = client.heard_so_far()
    assert found[0]["id"] == INITIALIZE["id"]
    assert sorted(each["id"] for each in found) == [1, 2, 3, 4]


def test_a_line_in_two_pieces_is_answered_when_its_end_comes_or_by_the_session(
    client: Client, settings: Settings
) -> None:
    greeter = greeter_of(client, settings)
    line, half = line_of(INITIALIZE), len(line_of(INITIALIZE)) // 2
    for piece in (line[:half], line[half:], line_of(asking("ping"))[:9]):
        os.write(client.asks, piece)
        greeter.answer()
    os.write(client.asks, line_of(asking("ping"))[9:])
    client.hang_up()
    asyncio.run(serve(client, settings, greeter))
    assert [each["id"] for each in client.heard_so_far()] == [1, 2]


def test_a_client_that_reads_nothing_is_not_answered_further_and_hears_all_when_it_reads(
    client: Client, settings: Settings
) -> None:
    asked = [asking("tools/list", number) for number in range(2, 12)]
    client.say(INITIALIZE, *asked)
    client.hang_up()
    greeter = greeter_of(client, settings)
    greeter.answer()  # it does not block
    assert 0 < client.said.size < 1 << 20
    assert not greeter.client_left

    async def work() -> list[Any]:
        reading = asyncio.create_task(asyncio.to_thread(read_lines, client.answers, len(asked) + 1))
        await serve(client, settings, greeter)
        return await reading

    assert [each["id"] for each in asyncio.run(work())] == list(range(1, 12))


def read_lines(fd: int, count: int) -> list[Any]:
    data = b""
    while data.count(b"\n") < count:
        data += os.read(fd, 1 << 16)
    return [json.loads(line) for line in data.splitlines()]


def test_a_line_that_is_too_long_is_left_for_the_session(client: Client, settings: Settings) -> None:
    client.heard.lines += [line_of(INITIALIZE), None, line_of(asking("ping"))]
    client.hang_up()
    greeter = greeter_of(client, settings)
    greeter.answer()
    assert list(client.heard.lines) == [None, line_of(asking("ping"))]
    asyncio.run(serve(client, settings, greeter))
    first, refused, pong = client.heard_so_far()
    assert (first["id"], refused["error"]["code"], pong["id"]) == (1, protocol.INVALID_REQUEST, 2)
    assert str(LONGEST_LINE >> 20) in refused["error"]["message"]


def test_a_client_that_hears_nothing_any_more_has_left(client: Client, settings: Settings) -> None:
    os.close(client.answers)
    client.answers = -1
    client.say(INITIALIZE, call(2, "list"))
    greeter = greeter_of(client, settings)
    greeter.answer()
    assert greeter.client_left


PROGRAM = """
import sys
from unhang.faces.cli.main import run
code = run(["mcp"])
print(code, *sys.modules, file=sys.stderr)
"""


def test_a_client_that_only_says_hello_is_answered_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(ROOT / 'src')!r})\n{PROGRAM}"],
        input=line_of(INITIALIZE) + line_of(asking("tools/list")),
        env={"UNHANG_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1, 2]
    code, *loaded = ran.stderr.decode().split()
    assert code == "0"
    heavy = {"argparse", "asyncio", "dataclasses", "inspect", "json", "re", "typing", "unhang.faces.mcp.server"}
    assert not heavy & set(loaded)
