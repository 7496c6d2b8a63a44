"""JSON-RPC over the pipes of a child: one object a line, requests both ways."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import IO, Any

from unhang.agents.base.update import raw_of
from unhang.core.values import integer_of, text_of

Message = dict[str, Any]
_LONGEST = 1000  # of an error's words


class RpcError(Exception):
    """The other side answered a request with an error; its own words, and the details that it gave."""

    def __init__(self, method: str, error: Any) -> None:
        self.method = method
        self.code = integer_of(error, "code")
        self.message = text_of(error, "message", most=_LONGEST) or text_of(error, most=_LONGEST) or raw_of(error)
        more = text_of(error, "data", most=_LONGEST) or text_of(error, "data", "details", most=_LONGEST)
        if more and more not in self.message:
            self.message = f"{self.message}: {more}"[:_LONGEST]
        super().__init__(self.message)

    def to_json(self) -> Message:
        """Return the error as events have it."""
        return {"code": self.code, "message": self.message}


class Gone(Exception):
    """The other side has closed the connection."""


class Recorder:
    """Records every message of the conversation, for a bug report or a test that replays it."""

    def __init__(self, path: str | None) -> None:
        self._file: IO[str] | None = (
            open(path, "w", encoding="utf-8", errors="replace") if path else None  # noqa: SIM115 - closed at the end
        )
        self._began = time.monotonic()

    def message(self, who: str, message: Message) -> None:
        """Record a message as an object."""
        self._write(who, {"line": message})

    def line(self, who: str, line: bytes) -> None:
        """Record a line as it was on the wire. This recorder keeps messages only."""

    def _write(self, who: str, what: Message) -> None:
        """Write one entry. A recording that cannot be written ends; the conversation does not."""
        if self._file is None:
            return
        entry = {"t": round(time.monotonic() - self._began, 3), "from": who} | what
        try:
            self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._file.flush()
        except (OSError, RecursionError):
            self.close()

    def close(self) -> None:
        """End the recording."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                pass  # a full disk: what is in the buffer cannot be kept


class WireRecorder(Recorder):
    """Records every line as it was on the wire, both ways: such a recording can be played to either side again."""

    def message(self, who: str, message: Message) -> None:
        """Keep nothing: only lines are kept."""

    def line(self, who: str, line: bytes) -> None:
        """Record a line as it was on the wire."""
        self._write(who, {"raw": line.decode("utf-8", "replace").rstrip("\r\n")})


class MessageWriter:
    """Writes one object a line. `opening`: what each of them begins with."""

    def __init__(self, writer: asyncio.StreamWriter, recorder: Recorder, opening: Message | None = None) -> None:
        self._writer = writer
        self._recorder = recorder
        self._opening = opening or {}

    def send(self, message: Message) -> None:
        """Write one message. It is lost if the other side is gone."""
        whole = self._opening | message
        data = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        self._recorder.message("unhang", whole)
        self._recorder.line("unhang", data)
        try:
            self._writer.write(data)
        except (OSError, RuntimeError):
            pass  # it is gone; `leave` says so to everything that waits for an answer


class Peer(MessageWriter):
    """Sends requests and matches their answers. `heard` gets all other messages: notifications and requests."""

    def __init__(
        self,
        writer: asyncio.StreamWriter,
        recorder: Recorder,
        heard: Callable[[Message], None],
        opening: Message | None = None,
    ) -> None:
        super().__init__(writer, recorder, opening)
        self._heard = heard
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last = 0
        self._why = ""  # nothing more comes

    def take(self, message: Message) -> None:
        """Take a message of the other side: an answer to a request of ours, or one for `heard`."""
        if "method" in message:
            self._heard(message)
            return
        number = message.get("id")
        if type(number) is not int:  # not even true, which is equal to 1
            return
        method, future = self._pending.pop(number, ("", None))
        if future is None or future.done():
            return
        if message.get("error") is not None:
            future.set_exception(RpcError(method, message["error"]))
        else:
            future.set_result(message.get("result"))

    def leave(self, why: str) -> None:
        """Note that nothing more comes: every request that waits for its answer raises Gone."""
        self._why = self._why or why
        for method, future in self._pending.values():
            if not future.done():
                future.set_exception(Gone(f"{self._why} before it answered {method}"))
        self._pending.clear()

    def reserve(self) -> int:
        """Return the number of a request that is about to be sent."""
        self._last += 1
        return self._last

    def ask(self, number: int, method: str, params: Message) -> asyncio.Future[Any]:
        """Send a request under a reserved number; the caller waits for the future, or cancels it."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._why:
            future.set_exception(Gone(f"{self._why} before it was asked for {method}"))
            return future
        self._pending[number] = (method, future)
        self.send({"id": number, "method": method, "params": params})
        return future

    async def request(self, method: str, params: Message) -> Message:
        """Send a request, and wait for its result. Raises RpcError or Gone."""
        answer = await self.ask(self.reserve(), method, params)
        return answer if isinstance(answer, dict) else {}
