"""The ACP proxy against a bare pipe: what it adds to a message, what it lets through, how soon it is there."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from bench.measure import Row, in_turns

_ROUNDS = 1500
_FLOOD = 100_000_000
_UPDATE = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {
        "sessionId": "sess_0123456789",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a few words " * 8}},
    },
}
_LINE = json.dumps(_UPDATE, separators=(",", ":")).encode() + b"\n"
# What anybody would write who only wants to listen in: a process for each direction.
_CATS = ["sh", "-c", 'cat | "$@" | cat', "sh"]


def _proxy() -> list[str]:
    return [sys.executable, "-m", "unhang", "acp", "proxy", "--"]


def _there_and_back(between: Sequence[str]) -> list[float]:
    """One message through to an agent that sends it back, one after another."""
    process = subprocess.Popen([*between, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    into, out = process.stdin.fileno(), process.stdout.fileno()
    taken: list[float] = []
    for _ in range(_ROUNDS + 100):
        began = time.perf_counter()
        os.write(into, _LINE)
        got = 0
        while got < len(_LINE):
            got += len(os.read(out, 1 << 16))
        taken.append(time.perf_counter() - began)
    process.stdin.close()
    process.stdout.close()
    process.wait()
    return taken[100:]


def acp_latency(_home: str) -> list[Row]:
    """The median of three medians, in turns."""
    found: dict[str, list[float]] = {"direct": [], "proxy": [], "cats": []}
    for _ in range(3):
        for name, between in (("direct", []), ("proxy", _proxy()), ("cats", _CATS)):
            found[name].append(statistics.median(_there_and_back(between)))
    direct, proxy, cats = (statistics.median(found[name]) * 1e3 for name in ("direct", "proxy", "cats"))
    note = "a message there and its echo back, beyond what the agent itself takes"
    return [
        Row("ACP proxy adds (p50)", max(0.0, proxy - direct), None, 1.0, "ms", note=note),
        Row("ACP proxy vs cat both ways (p50)", proxy, cats, None, "ms", note="cat knows no lines and no clocks"),
    ]


def acp_throughput(home: str) -> list[Row]:
    """Updates of an agent that has a lot to say, to an editor that reads as fast as it can."""
    path = f"{home}/flood.ndjson"
    with open(path, "wb") as file:
        for _ in range(_FLOOD // (len(_LINE) * 1000)):
            file.write(_LINE * 1000)
    size = os.path.getsize(path)

    def through(between: Sequence[str]) -> None:
        process = subprocess.Popen([*between, "cat", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        assert process.stdout is not None
        got = 0
        while chunk := os.read(process.stdout.fileno(), 1 << 18):
            got += len(chunk)
        process.stdin.close()
        process.stdout.close()
        process.wait()
        assert got == size, (got, size)

    ours, cats = in_turns(3, lambda: through(_proxy()), lambda: through(["sh", "-c", '"$@" | cat', "sh"]))
    os.unlink(path)
    note = "every message is read for the clocks; a flood of updates is some thousand times faster than a model"
    return [Row("ACP proxy throughput vs cat", size / ours / 1e6, size / cats / 1e6, None, "MB/s", True, note)]


def acp_first_message(_home: str) -> list[Row]:
    """From the start to the first echo, against the same interpreter starting up."""

    def first() -> None:
        process = subprocess.Popen([*_proxy(), "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert process.stdin is not None
        assert process.stdout is not None
        os.write(process.stdin.fileno(), _LINE)
        os.read(process.stdout.fileno(), 1 << 16)
        process.stdin.close()
        process.stdout.close()
        waiting.append(process)

    waiting: list[subprocess.Popen[bytes]] = []
    ours, bare = in_turns(
        9, first, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True, stdin=subprocess.DEVNULL)
    )
    for process in waiting:
        process.wait()
    return [Row("ACP proxy's first message", ours * 1e3, bare * 1e3, 6.0, "ms")]
