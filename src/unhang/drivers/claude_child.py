"""One `claude -p` as a child: lines of JSON both ways, control requests and their answers, signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable

from unhang.drivers.rpc import Gone, Message, Recorder
from unhang.drivers.voice import complain

# A tool's result is told in one line.
_LONGEST_LINE = 256 << 20


class Refused(Exception):
    """Claude said no to a control request, in its own words."""


class Child:
    def __init__(
        self, process: asyncio.subprocess.Process, heard: Callable[[Message], None], recorder: Recorder
    ) -> None:
        self.process = process
        self.gone = asyncio.Event()
        self._heard = heard
        self._recorder = recorder
        self._asked: dict[str, asyncio.Future[Message]] = {}
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(cls, words: list[str], heard: Callable[[Message], None], recorder: Recorder) -> Child:
        """Its stderr is ours, and so the job's. Raises OSError if it cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=dict(os.environ),
            limit=_LONGEST_LINE,
        )
        return cls(process, heard, recorder)

    # --- listening ------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Until it closes its end."""
        assert self.process.stdout is not None
        try:
            while line := await self.process.stdout.readline():
                self._take(line)
        except (OSError, ValueError):  # the pipe broke, or a line beyond every measure
            pass
        finally:
            self.gone.set()
            for future in self._asked.values():
                if not future.done():
                    future.set_exception(Gone("Claude closed the line before it answered"))
            self._asked.clear()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            text = line.decode("utf-8", "replace").strip()
            if text:
                complain(f"claude says: {text[:500]}")
            return
        self._recorder.note("agent", message)
        if message.get("type") == "control_response":
            self._answered(message.get("response"))
        self._heard(message)

    def _answered(self, response: object) -> None:
        answer = response if isinstance(response, dict) else {}
        future = self._asked.pop(str(answer.get("request_id")), None)
        if future is None or future.done():
            return
        if answer.get("subtype") == "success":
            future.set_result(answer)
        else:
            future.set_exception(Refused(str(answer.get("error") or "refused")))

    # --- talking --------------------------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        self._recorder.note("unhang", message)
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except (OSError, RuntimeError):
            pass  # it is gone; whoever waits for an answer is told so

    def task(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content}
        self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""})

    async def ask(self, **request: object) -> Message:
        """A control request. Raises Refused or Gone."""
        if self.gone.is_set() or self.input_closed:
            raise Gone("Claude does not listen any more")
        name = f"unhang-{len(self._asked) + 1}-{request.get('subtype')}"
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[name] = future
        try:
            self.send({"type": "control_request", "request_id": name, "request": dict(request)})
            return await future
        finally:
            self._asked.pop(name, None)

    def refuse(self, request: Message) -> None:
        """Whatever it wants of its host: none is left hanging."""
        answer = {"subtype": "error", "request_id": request.get("request_id"), "error": "nobody is here to answer"}
        self.send({"type": "control_response", "response": answer})

    @property
    def input_closed(self) -> bool:
        return self.process.stdin is None or self.process.stdin.is_closing()

    def close_input(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    # --- ending ---------------------------------------------------------------------------------------------

    @property
    def exited(self) -> bool:
        return self.process.returncode is not None

    def signal(self, number: signal.Signals) -> None:
        try:
            self.process.send_signal(number)
        except ProcessLookupError:
            pass

    async def wait_exit(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self.process.wait()
        except TimeoutError:
            return False
        return True

    async def done(self) -> None:
        """It has exited: what it still said is heard, and nothing of ours is left open."""
        if not self._listening.done():
            # a tool's child may hold its stdout: what Claude itself said is there already
            await asyncio.wait({self._listening}, timeout=0.5)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self.close_input()

    def how_it_ended(self) -> str:
        code = self.process.returncode
        if code is None:
            return "it still runs"
        if code < 0:
            return f"ended by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"ended by {-code}"
        return f"exit code {code}"
