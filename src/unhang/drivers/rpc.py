"""JSON-RPC over the pipes of a child: one object a line, requests both ways. (Codex leaves the "jsonrpc" field out.)"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import IO, Any

Message = dict[str, Any]


class RpcError(Exception):
    """The other side said no, in its own words."""

    def __init__(self, method: str, error: Any) -> None:
        found = error if isinstance(error, dict) else {}
        self.method = method
        self.code = found.get("code")
        self.message = str(found.get("message") or error)
        super().__init__(self.message)


class Gone(Exception):
    """The other side has closed the line."""


class Recorder:
    """Every line of the conversation, for a bug report or a test that replays it."""

    def __init__(self, path: str | None) -> None:
        self._file: IO[str] | None = open(path, "w", encoding="utf-8") if path else None  # noqa: SIM115
        self._began = time.monotonic()

    def note(self, who: str, line: Message) -> None:
        if self._file is not None:
            entry = {"t": round(time.monotonic() - self._began, 3), "from": who, "line": line}
            self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Peer:
    """`heard` gets every message that is no answer to a request of ours: notifications and their requests."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        heard: Callable[[Message], None],
        recorder: Recorder,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._heard = heard
        self._recorder = recorder
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last = 0
        self.gone = asyncio.Event()

    async def listen(self) -> None:
        """Until the other side closes. Lines that are no JSON objects are passed over."""
        try:
            while line := await self._reader.readline():
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(message, dict):
                    self._recorder.note("agent", message)
                    self._take(message)
        except (OSError, ValueError):  # the pipe broke, or a line beyond every measure
            pass
        finally:
            self.gone.set()
            for method, future in self._pending.values():
                if not future.done():
                    future.set_exception(Gone(f"the agent closed the line before it answered {method}"))
            self._pending.clear()

    def _take(self, message: Message) -> None:
        if "method" in message:
            self._heard(message)
            return
        method, future = self._pending.pop(message.get("id", 0), ("", None))
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(RpcError(method, message["error"]))
        else:
            future.set_result(message.get("result"))

    async def request(self, method: str, params: Message, timeout: float | None = None) -> Message:
        """Raises RpcError, Gone, or TimeoutError."""
        if self.gone.is_set():
            raise Gone(f"the agent has closed the line; it cannot be asked for {method}")
        self._last += 1
        number = self._last
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[number] = (method, future)
        self.send({"id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout):
                answer = await future
        finally:
            self._pending.pop(number, None)
        return answer if isinstance(answer, dict) else {}

    def send(self, message: Message) -> None:
        self._recorder.note("unhang", message)
        try:
            self._writer.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except (OSError, RuntimeError):
            pass  # it is gone; whoever waits for an answer is told so

    def close_input(self) -> None:
        self._writer.close()
