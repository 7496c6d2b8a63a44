"""One `claude -p` as a child: its messages, and control requests with their answers."""

from __future__ import annotations

import asyncio
from typing import Any

from unhang.agents.base.child import Child
from unhang.agents.base.jsonrpc import Gone, Message, MessageWriter
from unhang.agents.base.update import preview
from unhang.core.values import mapping_of, text_of


class ControlRefused(Exception):
    """Claude refused a control request, in its own words."""


class ClaudeChild(Child):
    """A headless Claude as a child."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._output = MessageWriter(self._writer, self._recorder)
        self._asked: dict[str, asyncio.Future[Message]] = {}

    # --- listening ------------------------------------------------------------------------------------------

    def _take(self, message: Message) -> None:
        if message.get("type") == "control_response":
            self._answered(message.get("response"))
        self._heard(message)

    def _leave(self, why: str) -> None:
        super()._leave(why)
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
            future.set_exception(ControlRefused(preview(text_of(answer, "error") or "refused")))

    # --- talking --------------------------------------------------------------------------------------------

    def task(self, text: str) -> None:
        """Hand over a task."""
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content}
        self._output.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""})

    async def ask(self, **request: object) -> Message:
        """Send a control request, and wait for its answer. Raises ControlRefused or Gone."""
        if self.gone.is_set() or self.input_closed:
            raise Gone("Claude does not listen any more")
        name = f"unhang-{len(self._asked) + 1}-{request.get('subtype')}"
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[name] = future
        try:
            self._output.send({"type": "control_request", "request_id": name, "request": dict(request)})
            return await future
        finally:
            self._asked.pop(name, None)

    def refuse(self, request: Message) -> None:
        """Answer a control request of Claude with no: none may stay unanswered."""
        answer = {
            "subtype": "error",
            "request_id": text_of(request, "request_id"),
            "error": "there is no person here to answer",
        }
        self._output.send({"type": "control_response", "response": answer})
