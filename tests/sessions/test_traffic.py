"""The bytes on an agent's own connection: what a thinking model sends is life, and pings are not."""

from __future__ import annotations

import os
import socket
from functools import partial

import pytest

from tests.support.engine import wait_until
from unhang.procs.sampler.connections import connections
from unhang.sessions.state import traffic

PING = len('event: ping\ndata: {"type": "ping"}\n\n')
WORD = len(
    'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, '
    '"delta": {"type": "thinking_delta", "thinking": "a"}}\n\n'
)
FRAMING = [0, 50]  # plain, and with the overhead of TLS, HTTP/2 and chunks


@pytest.mark.parametrize("framing", FRAMING)
def test_words_are_life_and_pings_are_not(framing: int) -> None:
    before = {"a": (5000, 20), "b": (700, 3)}
    assert traffic.writes(before, before | {"a": (5000 + 9 * (WORD + framing), 29)})
    assert not traffic.writes(before, before | {"a": (5000 + 500 * (PING + framing), 520)})
    assert not traffic.may_write(before, before | {"a": (5000 + 500 * (PING + framing), 520)})
    assert not traffic.may_write(before, before)


def test_the_head_of_an_answer_alone_is_no_life() -> None:
    """A request that is tried again, on the same connection or on a new one, gets an answer's head and then nothing."""
    before = {"a": (5000, 20)}
    for after in ({"a": (5900, 22)}, {"b": (900, 3)}, {"a": (5000, 20), "b": (300, 1)}):
        assert not traffic.writes(before, after)
        assert traffic.may_write(before, after)


def test_the_kernel_counts_what_comes_in_on_a_connection_of_the_process_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        service, _ = server.accept()
        with service:
            port = client.getsockname()[1]

            def came() -> tuple[int | None, int | None]:
                (seen,) = [
                    each for each in connections(os.getpid(), alone=True).values() if each.local.endswith(f":{port}")
                ]
                return seen.received, seen.segments

            def is_so(number: int) -> bool:
                return came() == (200 * number, number)

            assert is_so(0)
            for number in range(1, 4):
                service.sendall(b"x" * 200)
                wait_until(partial(is_so, number), "the kernel has counted it")
