"""HTTP: nobody gets in without the token, from a foreign page or by another name; and whoever leaves takes his job."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat as modes
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.support.engine import Engine, actor, read_line, wait_until
from tests.support.mcp.harness import Caller, Servers, connect
from tests.support.mcp.raw import INITIALIZE, call
from unhang.testing.liveness import PATIENCE, RollCall

ACCEPT = "application/json, text/event-stream"


class Site(NamedTuple):
    port: int
    token: str
    token_file: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def headers(self, **changed: str | None) -> dict[str, str]:
        given: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
        }
        given |= {name.replace("_", "-"): value for name, value in changed.items()}
        return {name: value for name, value in given.items() if value is not None}

    def post(self, body: Any, **changed: str | None) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.putrequest("POST", "/mcp", skip_host=True, skip_accept_encoding=True)
            for name, value in (self.headers(**changed) | {"Content-Length": str(len(data))}).items():
                connection.putheader(name, value)
            connection.endheaders()
            try:
                connection.send(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was read
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read(1 << 16)
        finally:
            connection.close()


@pytest.fixture
def site(servers: Servers, engine: Engine) -> Iterator[Site]:
    process = servers.popen("--http", "127.0.0.1:0")
    assert process.stdout is not None
    url = read_line(process.stdout.fileno()).decode().strip()
    assert url.startswith("http://127.0.0.1:")
    path = engine.home / "mcp-token"
    yield Site(int(url.split(":")[2].split("/")[0]), path.read_text().strip(), str(path))
    process.terminate()
    assert process.wait(PATIENCE) is not None


def test_a_request_needs_the_token_a_known_host_and_no_foreign_origin(site: Site) -> None:
    assert modes.S_IMODE(os.stat(site.token_file).st_mode) == 0o600
    status, _, body = site.post(INITIALIZE)
    assert status == 200
    assert b'"unhang"' in body
    own = f"http://127.0.0.1:{site.port}"
    assert site.post(INITIALIZE, Origin=own)[0] == 200
    assert site.post(INITIALIZE, Host=f"localhost:{site.port}")[0] == 200
    status, headers, _ = site.post(INITIALIZE, Authorization=None)
    assert status == 401
    assert headers["www-authenticate"].startswith("Bearer")
    for wrong in ("Bearer x", f"Basic {site.token}", f"Bearer {site.token}x", f"Bearer {site.token[:-1]}", "Bearer "):
        assert site.post(INITIALIZE, Authorization=wrong)[0] == 401
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{site.port}",
        f"{own}.evil.example",
        "http://127.0.0.1:1",
    ):
        assert site.post(INITIALIZE, Origin=origin)[0] == 403
    # DNS rebinding: the right address by another name
    for host in ("evil.example", f"evil.example:{site.port}", f"127.0.0.1.evil.example:{site.port}", "127.0.0.1"):
        assert site.post(INITIALIZE, Host=host)[0] == 421
    assert site.post(b"x" * (5 << 20))[0] == 413
    assert site.post(b"{")[0] == 400
    assert site.post(INITIALIZE)[0] == 200


def test_only_a_private_token_file_is_trusted(servers: Servers, engine: Engine) -> None:
    path = engine.folder / "token"
    path.write_text("a" * 40 + "\n")
    path.chmod(0o644)
    process = servers.popen("--http", "127.0.0.1:0", "--token-file", str(path))
    assert process.wait(30) == 125


def test_a_pipe_as_a_token_file_is_an_error_and_not_a_wait(servers: Servers, engine: Engine) -> None:
    os.mkfifo(engine.folder / "token", 0o600)
    process = servers.popen("--http", "127.0.0.1:0", "--token-file", str(engine.folder / "token"))
    assert process.wait(30) == 125


@asynccontextmanager
async def over_http(site: Site, era: str) -> AsyncIterator[Caller]:
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {site.token}"}) as client,
        connect(streamable_http_client(site.url, http_client=client), era) as caller,
    ):
        yield caller


def test_the_official_client_runs_jobs_over_http(site: Site, era: str) -> None:
    async def work() -> None:
        async with over_http(site, era) as caller:
            found = await caller.call("run", command="echo over http")
            assert found.data["stdout"] == "over http\n"
            slow = await caller.call("run", command="sleep 600", idleTimeoutMs=1200)
            assert slow.data["status"] == "timeout"
            assert caller.progress

    anyio.run(work)


def test_cancelling_over_http_ends_the_job(site: Site, era: str, roll: RollCall) -> None:
    async def work() -> None:
        async with over_http(site, era) as caller, anyio.create_task_group() as group:

            async def run(caller: Caller) -> None:
                await caller.call("run", argv=actor("obedient", roll.path))

            group.start_soon(run, caller)
            await anyio.to_thread.run_sync(roll.wait_for, "leader")
            group.cancel_scope.cancel()

    anyio.run(work)
    assert roll.wait_empty()


@pytest.mark.parametrize("modern", [False, True], ids=["handshake-era", "modern-era"])
def test_a_dropped_socket_ends_the_foreground_job(site: Site, roll: RollCall, modern: bool) -> None:
    more: dict[str, str | None] = {"MCP_Protocol_Version": "2025-11-25"}
    request = call(2, "run", argv=actor("obedient", roll.path))
    if modern:
        more = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "run"}
        request["params"]["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    else:
        _, headers, _ = site.post(INITIALIZE)
        more["Mcp_Session_Id"] = headers["mcp-session-id"]
        assert site.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **more)[0] == 202
    data = json.dumps(request).encode()
    lines = [f"{name}: {value}" for name, value in (site.headers(**more) | {"Content-Length": str(len(data))}).items()]
    line = socket.create_connection(("127.0.0.1", site.port))
    line.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode() + data)
    roll.wait_for("leader")
    line.close()
    assert roll.wait_empty()


def test_the_end_of_the_server_ends_foreground_jobs_and_keeps_the_others(
    site: Site, servers: Servers, roll: RollCall
) -> None:
    async def work() -> None:
        async with over_http(site, "auto") as caller, anyio.create_task_group() as group:
            await caller.call("start", command="sleep 600")

            async def run() -> None:
                try:
                    await caller.call("run", argv=actor("obedient", roll.path))
                except Exception:  # the server is gone
                    pass

            group.start_soon(run)
            await anyio.to_thread.run_sync(roll.wait_for, "leader")
            servers.engine._started[-1].terminate()
            await anyio.to_thread.run_sync(roll.wait_empty)
            group.cancel_scope.cancel()

    async def outer() -> None:
        try:
            await work()
        except BaseExceptionGroup:  # its own end of the connection breaks
            pass

    anyio.run(outer)
    assert roll.wait_empty()

    def running() -> list[str]:
        return [place.id for place in servers.engine.jobs() if not servers.job(place.id).ended()]

    wait_until(lambda: len(running()) == 1, "only the background job runs on")
    assert servers.job(running()[0]).cancel().status == "cancelled"
