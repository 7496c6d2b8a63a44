"""A stranger on the machine, who has no token, cannot use up the HTTP server or keep its clients out."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from tests.faces.mcp.test_http import Site
from tests.support.engine import Engine, read_line
from tests.support.mcp.harness import Servers
from tests.support.mcp.raw import INITIALIZE
from unhang.faces.mcp import http
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.sdk import SdkThreads, build
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.jobs.local_server import ConnectionLimits, LimitedConnection, admit, hosts_of

# far more than a loaded machine needs
PATIENCE = 30.0
# far more than the kernel holds for a connection
LARGE = 1 << 25


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    """Lets in who knows the word."""
    del receive
    if scope["path"] != "/closed":
        admit(scope, scraper=scope["path"] == "/metrics")
    if scope["path"] in ("/whole", "/pieces"):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        pieces = 1 if scope["path"] == "/whole" else LARGE >> 16
        for _ in range(pieces):
            await send({"type": "http.response.body", "body": b"x" * (LARGE // pieces), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Place:
    """A server with a limits, in this process."""

    def __init__(self, limits: ConnectionLimits, port: int) -> None:
        self.limits = limits
        self.port = port

    async def come(
        self, path: str = "", *, address: str = "127.0.0.1"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects; with a path it asks for it and waits for the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        if path:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\nok")
            assert head.startswith(b"HTTP/1.1 200")
        return reader, writer


@asynccontextmanager
async def place(limits: ConnectionLimits, patience: float, **more: float) -> AsyncIterator[Place]:
    config = uvicorn.Config(_app, log_level="critical", access_log=False)
    config.load()
    made = partial(LimitedConnection, limits, patience, config=config, server_state=ServerState(), app_state={}, **more)
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    try:
        yield Place(limits, server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _is_closed(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.read(1) == b""
        except ConnectionResetError:
            return True


async def _size_of(reader: asyncio.StreamReader) -> int:
    size = 0
    try:
        while piece := await reader.read(1 << 20):
            size += len(piece)
    except ConnectionResetError:
        pass
    return size


async def _is_served(comer: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: str = "/open") -> bool:
    reader, writer = comer
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        return (await reader.readuntil(b"\r\n\r\nok")).startswith(b"HTTP/1.1 200")


def _play(limits: ConnectionLimits, patience: float, work: Any, **more: float) -> None:
    async def main() -> None:
        async with place(limits, patience, **more) as there:
            comers: list[Any] = []
            await work(there, comers)
            for _, writer in comers:
                writer.close()

    asyncio.run(main())


def test_a_connection_that_shows_no_token_is_closed_after_a_while_whatever_it_does() -> None:
    async def work(there: Place, comers: list[Any]) -> None:
        silent = await there.come()
        slow = await there.come()
        slow[1].write(b"GET /open HTTP/1.1\r\nX: ")
        asking = await there.come("/closed")
        client = await there.come("/open")
        comers += [silent, slow, asking, client]
        for reader, _ in (silent, slow, asking):
            assert await _is_closed(reader)
        assert await _is_served(client), "it is in, and stays"

    _play(ConnectionLimits(), 3.0, work)  # long enough for all four to have come and asked


def test_one_stranger_too_many_closes_the_oldest_and_never_a_client() -> None:
    limits = ConnectionLimits(64)

    async def work(there: Place, comers: list[Any]) -> None:
        client = await there.come("/open")
        held = [await there.come(address=f"127.0.0.{2 + n % 8}") for n in range(3 * limits.most_strangers)]
        comers += [client, *held]
        for reader, _ in held[: -limits.most_strangers]:
            assert await _is_closed(reader)
        late = await there.come("/open")
        comers.append(late)
        assert await _is_served(client)
        assert await _is_served(late)
        assert await _is_served(held[-1], "/closed")

    _play(limits, PATIENCE, work)


def test_one_address_holds_fewer_than_all_of_them() -> None:
    limits = ConnectionLimits(64)
    assert limits.most_of_one < limits.most_strangers

    async def work(there: Place, comers: list[Any]) -> None:
        other = await there.come(address="127.0.0.3")
        held = [await there.come(address="127.0.0.2") for _ in range(2 * limits.most_strangers)]
        comers += [other, *held]
        for reader, _ in held[: -limits.most_of_one]:
            assert await _is_closed(reader)
        assert await _is_served(other, "/closed"), "the oldest of all, but of another address"

    _play(limits, PATIENCE, work)


def test_clients_are_bounded_too() -> None:
    limits = ConnectionLimits(64)
    limits.most_clients = 3

    async def work(there: Place, comers: list[Any]) -> None:
        clients = [await there.come("/open") for _ in range(3)]
        one_more = await there.come()
        comers += [*clients, one_more]
        one_more[1].write(b"GET /open HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await _is_closed(one_more[0])
        clients[0][1].close()
        for client in clients[1:]:
            assert await _is_served(client)
        async with asyncio.timeout(PATIENCE):
            while True:  # until the server has seen that one is gone
                try:
                    comers.append(await there.come("/open"))
                    return
                except (ConnectionResetError, asyncio.IncompleteReadError):
                    continue

    _play(limits, PATIENCE, work)


def test_one_scraper_too_many_closes_the_oldest_and_keeps_no_client_out() -> None:
    limits = ConnectionLimits(64)
    limits.most_clients = limits.most_scrapers

    async def work(there: Place, comers: list[Any]) -> None:
        held = [await there.come("/metrics") for _ in range(3 * limits.most_scrapers)]
        clients = [await there.come("/open") for _ in range(limits.most_clients)]
        comers += [*held, *clients]
        for reader, _ in held[: -limits.most_scrapers]:
            assert await _is_closed(reader)
        for client in clients:
            assert await _is_served(client, "/metrics"), "who is a client stays one"
        for scraper in held[-limits.most_scrapers :]:
            assert await _is_served(scraper, "/metrics"), "the same connection again is no other scraper"

    _play(limits, PATIENCE, work)


@pytest.mark.parametrize("path", ["/whole", "/pieces"])
@pytest.mark.parametrize("more", ["", "Connection: close\r\n"])
def test_a_client_that_takes_nothing_is_closed_and_one_that_takes_something_is_not(path: str, more: str) -> None:
    limits = ConnectionLimits()

    async def ask(there: Place) -> tuple[tuple[asyncio.StreamReader, asyncio.StreamWriter], LimitedConnection]:
        before = set(limits._clients)
        comer = await there.come()
        comer[1].write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            while not (new := limits._clients - before) or not next(iter(new)).flow.write_paused:
                await asyncio.sleep(0)
        return comer, new.pop()

    async def work(there: Place, comers: list[Any]) -> None:
        (reader, writer), reads = await ask(there)
        stalled, stalls = await ask(there)
        comers += [(reader, writer), stalled]
        for connection in (reads, stalls):
            connection._look_at_reader()
        async with asyncio.timeout(PATIENCE):
            size, before = 0, reads.transport.get_write_buffer_size()
            while reads.transport.get_write_buffer_size() == before:
                size += len(await reader.read(1 << 20))
        for connection in (reads, stalls):
            connection._look_at_reader()
        assert limits._clients == {reads}
        async with asyncio.timeout(PATIENCE):
            while size < LARGE and (piece := await reader.read(1 << 20)):
                size += len(piece)
            assert size >= LARGE
            assert await _size_of(stalled[0]) < LARGE, "what was in the buffers, and not the rest"
            writer.transport.abort()
            while limits._clients:
                await asyncio.sleep(0)

    _play(limits, PATIENCE, work, reader_patience=1000.0)


def test_the_time_of_a_client_that_takes_nothing_is_short() -> None:
    limits = ConnectionLimits()

    async def work(there: Place, comers: list[Any]) -> None:
        comer = await there.come()
        comers.append(comer)
        comer[1].write(b"GET /pieces HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            while not limits._clients:
                await asyncio.sleep(0)
            (connection,) = limits._clients
            while limits._clients:
                await asyncio.sleep(0)
        assert connection.transport.get_write_buffer_size() == 0, "nothing is held for it"

    _play(limits, PATIENCE, work, reader_patience=0.2)


@pytest.mark.parametrize("descriptors", [16, 64, 256, 1024, 1 << 20, resource.RLIM_INFINITY])
def test_strangers_and_clients_together_leave_descriptors_for_the_work(descriptors: int) -> None:
    limits = ConnectionLimits(descriptors)
    most = 1 << 16 if descriptors == resource.RLIM_INFINITY else descriptors
    assert limits.most_of_one < limits.most_strangers <= 64
    assert limits.most_strangers + limits.most_clients + limits.most_scrapers <= max(14, 0.7 * most)
    assert limits.most_clients <= 1000


def test_the_real_server_serves_its_client_while_a_stranger_holds_hundreds_of_connections(
    servers: Servers, engine: Engine
) -> None:
    """With few descriptors, as a backend may have. The stranger opens more than there are."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    process = servers.popen("--http", "127.0.0.1:0", preexec_fn=few)
    assert process.stdout is not None
    url = read_line(process.stdout.fileno()).decode().strip()
    site = Site(int(url.split(":")[2].split("/")[0]), (engine.home / "mcp-token").read_text().strip(), "")
    held: list[socket.socket] = []
    try:
        for number in range(400):
            held.append(socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE))
            try:
                held[-1].sendall(b"POST /mcp HTTP/1.1\r\nX: ")
            except ConnectionError:
                pass  # closed already
            if number % 50 == 49:
                assert site.post(INITIALIZE)[0] == 200
        assert site.post(INITIALIZE)[0] == 200
        assert process.poll() is None
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < 128
    finally:
        for line in held:
            line.close()
    assert site.post(INITIALIZE)[0] == 200
    process.terminate()
    assert process.wait(PATIENCE) is not None


def test_a_refusal_closes_its_connection(servers: Servers) -> None:
    process = servers.popen("--http", "127.0.0.1:0")
    assert process.stdout is not None
    port = int(read_line(process.stdout.fileno()).decode().split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9999999\r\n\r\n".encode())
        answer = b""
        while chunk := line.recv(1 << 16):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 401")
    process.terminate()
    assert process.wait(PATIENCE) is not None


def test_sessions_are_bounded_in_number_and_in_idle_time() -> None:
    backend = Backend(Settings(), SdkThreads())
    server = build(Server(backend))
    http.app_of(server, hosts_of("127.0.0.1", 1))
    manager = server._lowlevel_server._session_manager
    assert manager is not None
    assert manager.max_sessions == http.MOST_SESSIONS
    assert manager.session_idle_timeout == http.SESSION_IDLE
    backend.close()
