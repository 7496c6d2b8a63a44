"""Event streams: nothing is missed by a browser that was away, and one that does not read costs the others nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

import pytest

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.server import WebServer
from unhang.faces.web import streams
from unhang.faces.web.streams import EventStreamResponse


def test_a_stream_that_is_resumed_has_every_event_once(jobs: Jobs, web: WebServer) -> None:
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
    path = f"/api/jobs/{job.id}/stream"
    seen: list[int] = []
    with web.stream(path) as source:
        for name, number, data in source.messages():
            if name == "event":
                assert number == str(data["seq"])
                seen.append(data["seq"])
                break
    job.send("hello\n")
    wait_until(lambda: job.printed("stdout") == 6, "its output")
    job.cancel()
    last = job.last_seq()
    with web.stream(path, **{"Last-Event-ID": str(seen[-1])}) as source:
        for name, _, data in source.messages():
            if name == "event":
                seen.append(data["seq"])
                if data["seq"] == last:
                    break
    assert seen == list(range(1, last + 1))
    assert job.events()[-1]["seq"] == last


def test_an_overview_that_is_resumed_brings_only_what_changed(jobs: Jobs, web: WebServer) -> None:
    first = jobs.begin(*STILL, "--", "sleep", "100")
    with web.stream("/api/stream") as source:
        number = next(
            number
            for _, number, data in source.messages()
            if [entry["id"] for entry in data["entries"]] == [first.id] and data["entries"][0]["usage"]
        )
    second = jobs.begin("--", "true")
    second.wait()
    wait_until(lambda: second.id in str(web.get("/api/overview").json["entries"]), "the second job")
    with web.stream("/api/stream", **{"Last-Event-ID": number}) as source:
        _, _, data = next(source.messages())
    assert data["whole"] is False
    assert second.id in [entry["id"] for entry in data["entries"]]
    with web.stream("/api/stream", **{"Last-Event-ID": "another.5"}) as source:
        _, _, data = next(source.messages())
    assert data["whole"] is True
    assert {entry["id"] for entry in data["entries"]} == {first.id, second.id}


def test_a_reader_that_takes_nothing_does_not_hold_up_another(jobs: Jobs, web: WebServer) -> None:
    stalled = socket.create_connection(("127.0.0.1", web.port), timeout=30)
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.sendall(f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nCookie: {web.cookie}\r\n\r\n".encode())
    with web.stream("/api/stream") as source:
        messages = source.messages()
        next(messages)
        job = jobs.begin(*STILL, "--stdin", "pipe", "--", "cat")
        for text in ("one\n", "two\n", "three\n"):
            job.send(text)
        for _, _, data in islice(messages, 50):
            if any(entry["id"] == job.id and entry["bytes"]["stdout"] == 14 for entry in data["entries"]):
                break
        else:
            pytest.fail("the other viewer was not told")
    stalled.close()


def test_a_reader_that_takes_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PATIENCE", 0.05)
    sent: list[dict[str, Any]] = []

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"data: x\n\n"

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) > 3:
            await asyncio.Event().wait()  # the kernel's buffer is full, and stays so

    async def run() -> None:
        async with asyncio.timeout(30):
            await EventStreamResponse(chunks())({"type": "http"}, receive, send)

    asyncio.run(run())
    assert len(sent) == 4


def test_the_server_ends_at_once_though_pages_are_open(web: WebServer) -> None:
    with web.stream("/api/stream") as source:
        next(source.messages())
        web.end()
        assert list(source.messages()) == []
    assert web.process.stderr is not None
    assert web.process.stderr.read() == b""
