"""Requests of arbitrary bytes: each line is answered by one JSON object, and none ends the keeper."""

from __future__ import annotations

import json
import os
import pty
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.keeper.test_requests import Served
from unhang.keeper import control_socket, requests
from unhang.keeper.streams import InputStream
from unhang.procs import clock

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 10**400, 1e308, float("nan"), float("inf"), "\ud800", "====", "QUJD", "\x1b[2J\n", "a" * 9999]),
    st.floats(),
    st.text(max_size=40),
    st.recursive(st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=9),
)  # fmt: skip
# ruff: noqa: E501
DO = (
    st.sampled_from(
        [
            "cancel",
            "extend",
            "stalled",
            "send",
            "resize",
            "terminal",
            "ping",
            "interrupt",
            "signal",
            "press",
            "wants",
            "pause",
            "continue",
            "",
        ]
    )
    | ODD
)
KEYS = st.sampled_from(
    ["by", "force", "idle", "hard", "data", "eof", "rows", "columns", "offered", "silent", "reason", "do"]
)
REQUESTS = st.builds(lambda do, rest: {"do": do} | rest, DO, st.dictionaries(KEYS, ODD, max_size=5))
LINES = st.one_of(
    st.binary(max_size=300).map(lambda line: line.replace(b"\n", b"")),
    REQUESTS.map(lambda request: json.dumps(request).encode()),
    st.sampled_from([b"[" * 5000, b'{"do":' * 5000, b'{"do":"ping","a":' + b"9" * 6000 + b"}", b"\xff\xfe{\0}\0"]),
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """With an input and a terminal, so that every request reaches what it is about."""
    served = Served()
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    served.into = InputStream(writes, terminal=True)  # its end of file is a character: it stays open
    master, slave = pty.openpty()
    served.master = master
    yield served
    for fd in (reads, writes, master, slave):
        os.close(fd)


@given(line=LINES, owner=st.booleans())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_line_is_answered_by_one_object(served: Served, line: bytes, owner: bool) -> None:
    answer = control_socket.answer(line, lambda request: requests._handle(request, served, owner=owner))
    assert isinstance(answer["ok"], bool)
    assert answer["ok"] or answer["error"]
    assert b"\n" not in json.dumps(answer).encode()
    for by, _ in served.stopped:
        assert by.isprintable()
        assert by


@given(pieces=st.lists(st.binary(max_size=200) | LINES.map(lambda line: line + b"\n"), max_size=12))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_gets_one_answer_however_the_bytes_are_cut(served: Served, pieces: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    client = control_socket.ClientConnection(socket.SocketType(fileno=theirs.detach()), clock.monotonic())
    with ours:
        for piece in pieces:
            if piece:
                ours.sendall(piece)
            client.read(lambda request: requests._handle(request, served, owner=True))
        while client.behind or b"\n" in client._in:
            client.read(lambda request: requests._handle(request, served, owner=True))
        ours.setblocking(False)
        answers = b""
        try:
            while True:
                answers += ours.recv(1 << 20)
        except BlockingIOError:
            pass
        assert answers.count(b"\n") == b"".join(pieces).count(b"\n")
        assert all("ok" in json.loads(answer) for answer in answers.splitlines())
        assert client.open
        client.close()


def test_a_request_of_too_many_parts_is_refused(served: Served) -> None:
    line = b'{"do":"ping","a":[' + b"{}," * 600_000 + b"{}]}"
    answer = control_socket.answer(line, lambda request: requests._handle(request, served, owner=True))
    assert (answer["ok"], "parts" in answer["error"]) == (False, True)


def test_an_error_of_the_handler_is_an_answer_in_one_line() -> None:
    def fails(_request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("one\ntwo")

    assert control_socket.answer(b'{"do":"ping"}', fails) == {"ok": False, "error": "one two"}
