"""Messages on a pair of pipes: whole and in order, whatever the client reads and whoever is cancelled."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from unhang.faces.mcp.stdio_streams import MessageInput, MessageOutput

LARGE = "x" * 200_000  # more than a pipe holds


def message(number: int, text: str = "") -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=f"n/{number}", params={"text": text}))


def with_pipe(work: Callable[[int, int], Coroutine[Any, Any, None]]) -> None:
    reads, writes = os.pipe()
    try:
        anyio.run(work, reads, writes)
    finally:
        for fd in (reads, writes):
            os.close(fd)


def lines_of(fd: int, count: int) -> list[dict[str, Any]]:
    data = b""
    while data.count(b"\n") < count:
        data += os.read(fd, 1 << 16)
    return [json.loads(line) for line in data.splitlines()]


def test_a_sender_that_is_cancelled_leaves_its_message_whole_and_the_next_behind_it() -> None:
    async def work(reads: int, writes: int) -> None:
        output = MessageOutput(writes)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await output.send(message(1, LARGE))  # the client does not read: it waits, and is cancelled
        assert scope.cancelled_caught
        async with anyio.create_task_group() as group:
            group.start_soon(output.send, message(2))
            group.start_soon(output.send, message(3, LARGE))
            found = await anyio.to_thread.run_sync(lines_of, reads, 3)
        assert [each["method"] for each in found] == ["n/1", "n/2", "n/3"]
        assert [len(each["params"]["text"]) for each in found] == [len(LARGE), 0, len(LARGE)]

    with_pipe(work)


def test_a_client_that_is_gone_is_told_to_the_sender() -> None:
    async def work(reads: int, writes: int) -> None:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, reads)  # the last reading end closes
        os.close(null)
        output = MessageOutput(writes)
        for _ in range(2):
            with pytest.raises(anyio.BrokenResourceError):
                await output.send(message(1))

    with_pipe(work)


def test_a_client_that_takes_nothing_of_what_is_left_does_not_hold_the_end() -> None:
    async def work(reads: int, writes: int) -> None:
        output = MessageOutput(writes, patience=0.01)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await output.send(message(1, LARGE))
        await output.aclose()
        assert os.read(reads, 1)  # some of it was said: the pipe was full, and not closed

    with_pipe(work)


@pytest.mark.parametrize("asked", [b"no message\n", b""], ids=["while it is answered", "while it is waited for"])
def test_the_messages_end_when_nobody_hears_the_answers_though_their_pipe_is_open(asked: bytes) -> None:
    async def work(reads: int, writes: int) -> None:
        answers, said = os.pipe()
        os.close(answers)
        output = MessageOutput(said)
        heard = MessageInput(reads, output)
        os.write(writes, asked)
        found: list[object] = []

        async def listen() -> None:
            found.extend([each async for each in heard])

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(anyio.BrokenResourceError):
                await output.send(message(1))
        assert not found
        os.close(said)

    with_pipe(work)


def test_lines_come_whole_whatever_the_pieces_and_those_that_are_no_message_are_answered() -> None:
    sent = [b'{"jsonrpc":"2.0","method":"n/1"}\n', b"no message\n", b'{"jsonrpc":"2.0","method":"n/2"}']

    async def work(reads: int, writes: int) -> None:
        answers, said = os.pipe()
        heard = MessageInput(reads, MessageOutput(said))

        def feed() -> None:
            for byte in b"".join(sent):
                os.write(writes, bytes([byte]))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, writes)  # end of file
            os.close(null)

        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, feed)
            found = [each async for each in heard]
        methods = [each.message.method for each in found if isinstance(each, SessionMessage)]  # type: ignore[union-attr]
        assert methods == ["n/1", "n/2"]
        assert lines_of(answers, 1)[0]["error"]["code"] == -32700
        for fd in (answers, said):
            os.close(fd)

    with_pipe(work)


@pytest.mark.parametrize(
    ("number", "refused"),
    [(b"1.0", True), (b"true", True), (b"{}", True), (b"null", False)],
    ids=["a float", "a truth", "an object", "null"],
)
def test_a_request_with_an_id_of_no_known_kind_is_refused_and_not_taken_for_a_notification(
    number: bytes, refused: bool
) -> None:
    async def work(reads: int, writes: int) -> None:
        answers, said = os.pipe()
        heard = MessageInput(reads, MessageOutput(said))
        os.write(writes, b'{"jsonrpc":"2.0","id":%b,"method":"n/1"}\n{"jsonrpc":"2.0","method":"n/2"}\n' % number)
        found = await heard.receive()
        assert isinstance(found, SessionMessage)
        assert found.message.method == ("n/2" if refused else "n/1")  # type: ignore[union-attr]
        if refused:
            assert lines_of(answers, 1)[0]["error"]["code"] == -32600
        for fd in (answers, said):
            os.close(fd)

    with_pipe(work)
