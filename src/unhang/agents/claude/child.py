"""One `claude -p` as a child: its messages, and control requests with their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from unhang.agents.base.child import Child, Line, started
from unhang.agents.base.jsonrpc import Gone, Message, Recorder, Speaker
from unhang.agents.base.keeper_channel import complain
from unhang.agents.base.update import one_line
from unhang.core.values import mapping_of, text_of


class ControlRefused(Exception):
    """Claude said no to a control request, in its own words."""


class ClaudeChild(Child):
    def __init__(
        self,
        line: Line,
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
    ) -> None:
        self.gone = asyncio.Event()
        self._heard = heard
        self._speaker = Speaker(line.writer, recorder)
        self._asked: dict[str, asyncio.Future[Message]] = {}
        super().__init__(line, recorder, trouble)

    @classmethod
    async def start(
        cls,
        words: list[str],
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
    ) -> ClaudeChild:
        """Raises OSError if it cannot be started."""
        return cls(await started(words), heard, recorder, trouble)

    # --- listening ------------------------------------------------------------------------------------------

    def _take(self, message: Message) -> None:
        if message.get("type") == "control_response":
            self._answered(message.get("response"))
        self._heard(message)

    def _print(self, text: str) -> None:
        complain(f"claude says: {text}")

    def _leave(self, why: str) -> None:
        self.gone.set()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(Gone(f"{why} before it answered"))
        self._asked.clear()

    def _answered(self, response: object) -> None:
        answer = mapping_of(response)
        future = self._asked.pop(text_of(answer, "request_id"), None)
        if future is None or future.done():
            return
        if answer.get("subtype") == "success":
            future.set_result(answer)
        else:
            future.set_exception(ControlRefused(one_line(text_of(answer, "error") or "refused")))

    # --- talking --------------------------------------------------------------------------------------------

    def task(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content}
        self._speaker.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""})

    async def ask(self, **request: object) -> Message:
        """A control request. Raises ControlRefused or Gone."""
        if self.gone.is_set() or self.input_closed:
            raise Gone("Claude does not listen any more")
        name = f"unhang-{len(self._asked) + 1}-{request.get('subtype')}"
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[name] = future
        try:
            self._speaker.send({"type": "control_request", "request_id": name, "request": dict(request)})
            return await future
        finally:
            self._asked.pop(name, None)

    def refuse(self, request: Message) -> None:
        """Whatever it wants of its host: none is left hanging."""
        answer = {"subtype": "error", "request_id": text_of(request, "request_id"), "error": "nobody is here to answer"}
        self._speaker.send({"type": "control_response", "response": answer})
