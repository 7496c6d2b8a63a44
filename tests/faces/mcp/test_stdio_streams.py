"""Messages on a pair of pipes: whole and in order, whatever the client reads and whoever is cancelled."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
import pytest

from unhang.faces.mcp.protocol import encode, notification
from unhang.faces.mcp.stdio_ends import LONGEST_LINE, ReadEnd, WriteEnd
from unhang.faces.mcp.stdio_streams import ClientGone, LineInput, LineOutput, LineTooLong

LARGE = "x" * 200_000  # more than a pipe holds


def message(number: int, text: str = "") -> bytes:
    return encode(notification(f"n/{number}", {"text": text}))


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
        output = LineOutput(WriteEnd(writes))
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
        output = LineOutput(WriteEnd(writes))
        for _ in range(2):
            with pytest.raises(ClientGone):
                await output.send(message(1))

    with_pipe(work)


def test_a_client_that_takes_nothing_of_what_is_left_does_not_hold_the_end() -> None:
    async def work(reads: int, writes: int) -> None:
        output = LineOutput(WriteEnd(writes), patience=0.01)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await output.send(message(1, LARGE))
        await output.close()
        assert os.read(reads, 1)  # some of it was said: the pipe was full, and not closed

    with_pipe(work)


def test_the_lines_end_when_nobody_hears_the_answers_though_their_pipe_is_open() -> None:
    async def work(reads: int, writes: int) -> None:
        del writes
        answers, said = os.pipe()
        os.close(answers)
        output = LineOutput(WriteEnd(said))
        heard = LineInput(ReadEnd(reads), output)
        found: list[object] = []

        async def listen() -> None:
            found.append(await heard.next())

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(ClientGone):
                await output.send(message(1))
        assert found == [None]
        os.close(said)

    with_pipe(work)


def test_the_lines_end_when_the_client_closes_the_pipe_of_the_answers_although_nothing_is_said() -> None:
    async def work(reads: int, writes: int) -> None:
        del writes
        answers, said = os.pipe()
        output = LineOutput(WriteEnd(said))
        heard = LineInput(ReadEnd(reads), output)
        output.watch()
        found: list[object] = []

        async def listen() -> None:
            found.append(await heard.next())

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await anyio.wait_all_tasks_blocked()
                os.close(answers)
        assert found == [None]
        os.close(said)

    with_pipe(work)


def test_a_connection_of_two_ways_does_not_end_because_there_is_something_to_read_on_it() -> None:
    async def work() -> None:
        ours, theirs = socket.socketpair()
        output = LineOutput(WriteEnd(ours.fileno()))
        heard = LineInput(ReadEnd(os.dup(ours.fileno())), output)
        output.watch()
        theirs.sendall(b"one\n")
        assert await heard.next() == b"one"
        await output.send(message(1))
        theirs.close()
        assert await heard.next() is None
        os.close(heard._end.fd)
        ours.close()

    anyio.run(work)


def test_a_line_that_is_too_long_is_refused_before_its_end_comes_and_the_next_one_comes_whole() -> None:
    async def work(reads: int, writes: int) -> None:
        answers, said = os.pipe()
        heard = LineInput(ReadEnd(reads), LineOutput(WriteEnd(said)))

        def feed() -> None:
            with os.fdopen(writes, "wb", closefd=False) as stream:
                stream.write(b"x" * (LONGEST_LINE + 1))

        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, feed)
            with pytest.raises(LineTooLong):
                await heard.next()
        os.write(writes, b"rest\nnext\n")
        assert await heard.next() == b"next"
        for fd in (answers, said):
            os.close(fd)

    with_pipe(work)


def test_lines_come_whole_whatever_the_pieces() -> None:
    sent = [b"one\n", b"\n", b"two \xff\n", b"three"]

    async def work(reads: int, writes: int) -> None:
        answers, said = os.pipe()
        heard = LineInput(ReadEnd(reads), LineOutput(WriteEnd(said)))

        def feed() -> None:
            for byte in b"".join(sent):
                os.write(writes, bytes([byte]))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, writes)  # end of file
            os.close(null)

        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, feed)
            found = []
            while (line := await heard.next()) is not None:
                found.append(line)
        assert found == [b"one", b"", b"two \xff", b"three"]
        for fd in (answers, said):
            os.close(fd)

    with_pipe(work)
