"""A client that writes its own lines: for what no well-behaved client sends, and for dying at the wrong moment."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.support.engine import read_line

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Raw:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in, self._out = process.stdin, process.stdout.fileno()

    def shake_hands(self) -> None:
        self.send(INITIALIZE)
        assert self.answer(1)["result"]["serverInfo"]["name"] == "unhang"
        self.send(INITIALIZED)

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message).encode())

    def write(self, line: bytes) -> None:
        self._in.write(line + b"\n")
        self._in.flush()

    def receive(self) -> dict[str, Any]:
        line = read_line(self._out)
        assert line, "the server has closed its output"
        value = json.loads(line)
        assert isinstance(value, dict)
        return value

    def answer(self, number: int | None) -> dict[str, Any]:
        """The answer to a request; notifications and other answers are passed over."""
        while True:
            message = self.receive()
            if message.get("id") == number and ("result" in message or "error" in message):
                return message
