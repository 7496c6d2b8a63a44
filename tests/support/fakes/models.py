"""Fake models on loopback, as much of the two wire protocols as the real agents need to take a scripted turn.

A script is a list of steps: `Call(tool, input)` asks for a tool, `Say(text)` ends the turn. The number of tool results
that a request carries says which step is due, so a retried request gets the same answer.
"""

from __future__ import annotations

import json
import threading
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.support.fakes.server import Handler


class Call(NamedTuple):
    tool: str
    input: dict[str, Any]


class Say(NamedTuple):
    text: str


class Search(NamedTuple):
    """Codex shows its model the tools of MCP servers only after a search for them."""

    query: str


Step = Call | Say | Search


class FakeModel:
    """`results`: what the tools gave the model, in order, as it would read it."""

    def __init__(self, script: list[Step], handler: type[ScriptedHandler]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.results: list[str] = []
        model = self

        class Bound(handler):  # type: ignore[misc, valid-type]
            fake = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def step(self, results: list[str]) -> Step:
        if len(results) >= len(self.results):
            self.results = results
        return self.script[min(len(results), len(self.script) - 1)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ScriptedHandler(Handler):
    fake: FakeModel

    def body(self) -> dict[str, Any]:
        size = int(self.headers.get("content-length") or 0)
        value = json.loads(self.rfile.read(size) or b"{}")
        assert isinstance(value, dict)
        self.fake.requests.append(value)
        return value

    def do_GET(self) -> None:  # noqa: N802
        self.plain(200, {"data": [], "models": [], "object": "list"})

    def do_HEAD(self) -> None:  # noqa: N802
        self.plain(200, {})


class Anthropic(ScriptedHandler):
    """POST /v1/messages, streaming."""

    def do_POST(self) -> None:  # noqa: N802
        body = self.body()
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self.plain(200, {"input_tokens": 10})
            return
        step: Step = Say("pong")
        if body.get("tools"):  # requests without tools are the agent's own business (titles, summaries)
            step = self.fake.step(_anthropic_results(body))
        self.begin()
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
        }
        usage = {"input_tokens": 10, "output_tokens": 1}
        self.event("message_start", message=message | {"stop_reason": None, "stop_sequence": None, "usage": usage})
        if isinstance(step, Call):
            number = len(self.fake.results)
            block = {"type": "tool_use", "id": f"toolu_{number:020d}", "name": step.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step.input)}
        else:
            text = step.text if isinstance(step, Say) else step.query
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        self.event("content_block_start", index=0, content_block=block)
        self.event("content_block_delta", index=0, delta=delta)
        self.event("content_block_stop", index=0)
        reason = "tool_use" if isinstance(step, Call) else "end_turn"
        self.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 5})
        self.event("message_stop")


def _anthropic_results(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for message in body.get("messages", []):
        if message.get("role") != "user" or not isinstance(message.get("content"), list):
            continue
        for block in message["content"]:
            if block.get("type") == "tool_result":
                content = block.get("content")
                found.append(content if isinstance(content, str) else json.dumps(content))
    return found


class OpenAI(ScriptedHandler):
    """POST /v1/responses, streaming."""

    def do_POST(self) -> None:  # noqa: N802
        body = self.body()
        if not self.path.split("?")[0].endswith("/responses"):
            self.plain(404, {"error": {"message": "not found"}})
            return
        outputs = [item for item in body.get("input") or [] if str(item.get("type", "")).endswith("_output")]
        said = [item.get("output", item.get("tools")) for item in outputs]
        results = [found if isinstance(found, str) else json.dumps(found) for found in said]
        step = self.fake.step(results)
        number = len(results)
        self.begin()
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        self.event("response.created", response=response)
        item: dict[str, Any]
        if isinstance(step, Call):
            space, _, name = step.tool.rpartition("/")
            item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "status": "completed"}
            item |= {"name": name, "arguments": json.dumps(step.input)} | ({"namespace": space} if space else {})
        elif isinstance(step, Search):
            item = {"id": f"ts_{number}", "type": "tool_search_call", "call_id": f"call_{number}"}
            item |= {"status": "completed", "execution": "client", "arguments": {"query": step.query, "limit": 8}}
        else:
            text = {"type": "output_text", "text": step.text, "annotations": []}
            item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
            item |= {"content": [text]}
        self.event("response.output_item.added", output_index=0, item=item)
        self.event("response.output_item.done", output_index=0, item=item)
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # type: ignore[dict-item]
        self.event("response.completed", response=response | {"status": "completed", "output": [item], "usage": usage})
