"""How each model service words a request and a reply; `acp_models` says what the reply is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Body = dict[str, Any]

_IN, _OUT = 90, 10


class Ask(NamedTuple):
    """A request in the words of no dialect: what was said, in order ("user" or "tool"), and the tools on offer."""

    said: list[tuple[str, str]]
    tools: dict[str, Body]  # name → schema of its arguments


class Reply(NamedTuple):
    text: str = ""
    tool: str = ""
    arguments: Body = {}  # noqa: RUF012 - nobody writes to it
    how: str = ""  # hang, hang_mid, slow, http
    value: str = ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _words(reply: Reply) -> list[str]:
    return re.findall(r".{1,8}", reply.text, re.S) or [""]


Stream = Iterator[tuple[str, Body | str]]


class Dialect:
    def __init__(self, body: Body, path: str) -> None:
        self.body = body
        self.path = path

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def number(self) -> int:
        """Of this request in its conversation: no two calls of it have the same id."""
        return len(self.ask().said)

    def ask(self) -> Ask:
        raise NotImplementedError

    def stream(self, reply: Reply) -> Stream:
        raise NotImplementedError

    def whole(self, reply: Reply) -> Body:
        raise NotImplementedError


class Chat(Dialect):
    """OpenAI's chat/completions: Kimi, Qwen, OpenCode."""

    def ask(self) -> Ask:
        tools = {
            str(t["function"]["name"]): t["function"].get("parameters") or {} for t in self.body.get("tools") or []
        }
        said = [(m.get("role", ""), _text(m.get("content"))) for m in self.body.get("messages") or []]
        return Ask(said, tools)

    def _message(self, reply: Reply) -> Body:
        if not reply.tool:
            return {"role": "assistant", "content": reply.text}
        call = {"index": 0, "id": f"call_{self.number}", "type": "function"}
        call |= {"function": {"name": reply.tool, "arguments": json.dumps(reply.arguments)}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _head(self, kind: str) -> Body:
        return {"id": "chat_1", "object": kind, "created": 1, "model": self.body.get("model")}

    def stream(self, reply: Reply) -> Stream:
        head = self._head("chat.completion.chunk")
        parts = [{"role": "assistant", "content": word} for word in _words(reply)]
        for delta in [self._message(reply)] if reply.tool else parts:
            yield "", head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if reply.tool else "stop"}
        yield "", head | {"choices": [end], "usage": self._usage()}
        yield "", "[DONE]"

    def whole(self, reply: Reply) -> Body:
        reason = "tool_calls" if reply.tool else "stop"
        choice = {"index": 0, "message": self._message(reply), "finish_reason": reason}
        return self._head("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def _usage(self) -> Body:
        return {"prompt_tokens": _IN, "completion_tokens": _OUT, "total_tokens": _IN + _OUT}


class Responses(Dialect):
    """OpenAI's responses: Codex."""

    def ask(self) -> Ask:
        tools = {str(t.get("name")): t.get("parameters") or {} for t in self.body.get("tools") or [] if t.get("name")}
        said: list[tuple[str, str]] = []
        for item in self.body.get("input") or []:
            if str(item.get("type", "")).endswith("_output"):
                output = item.get("output")
                said.append(("tool", output if isinstance(output, str) else json.dumps(output)))
            elif item.get("role") == "user":
                said.append(("user", _text(item.get("content"))))
        return Ask(said, tools)

    def _item(self, reply: Reply) -> Body:
        if reply.tool:
            item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{self.number}", "name": reply.tool}
            return item | {"arguments": json.dumps(reply.arguments), "status": "completed"}
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}

    def _response(self, status: str, output: list[Body]) -> Body:
        usage = {"input_tokens": _IN, "output_tokens": _OUT, "total_tokens": _IN + _OUT}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": self.body.get("model")}
        return head | {"status": status, "output": output, "usage": usage | details, "error": None}

    def stream(self, reply: Reply) -> Stream:
        item = self._item(reply)
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events: list[Body] = [{"type": "response.created", "response": self._response("in_progress", [])}]
        events.append({"type": "response.output_item.added", "output_index": 0, "item": item})
        if not reply.tool:
            events += [{"type": "response.output_text.delta", "delta": word} | place for word in _words(reply)]
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": self._response("completed", [item])})
        for number, event in enumerate(events):
            yield str(event["type"]), event | {"sequence_number": number}

    def whole(self, reply: Reply) -> Body:
        return self._response("completed", [self._item(reply)])


class Messages(Dialect):
    """Anthropic's messages: Claude."""

    def ask(self) -> Ask:
        tools = {str(t.get("name")): t.get("input_schema") or {} for t in self.body.get("tools") or []}
        said: list[tuple[str, str]] = []
        for message in self.body.get("messages") or []:
            content = message.get("content")
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            for block in blocks:
                if block.get("type") == "tool_result":
                    said.append(("tool", _text(block.get("content"))))
                elif message.get("role") == "user":
                    said.append(("user", str(block.get("text", ""))))
        return Ask(said, tools)

    def _block(self, reply: Reply) -> Body:
        if reply.tool:
            return {"type": "tool_use", "id": f"toolu_{self.number}", "name": reply.tool, "input": reply.arguments}
        return {"type": "text", "text": reply.text}

    def _message(self, content: list[Body], reason: str | None) -> Body:
        usage = {"input_tokens": _IN, "output_tokens": _OUT}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.body.get("model")}
        return head | {"content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}

    def stream(self, reply: Reply) -> Stream:
        block: Body = self._block(reply)
        nothing: Body = {"input": {}} if reply.tool else {"text": ""}
        empty = block | nothing
        deltas: list[Body] = [{"type": "text_delta", "text": word} for word in _words(reply)]
        if reply.tool:
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}]
        reason = "tool_use" if reply.tool else "end_turn"
        events: list[Body] = [{"type": "message_start", "message": self._message([], None)}]
        events.append({"type": "content_block_start", "index": 0, "content_block": empty})
        events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": 0})
        end = {"stop_reason": reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": _OUT}})
        events.append({"type": "message_stop"})
        for event in events:
            yield str(event["type"]), event

    def whole(self, reply: Reply) -> Body:
        return self._message([self._block(reply)], "tool_use" if reply.tool else "end_turn")


class Gemini(Dialect):
    """Gemini's generateContent, streaming or not."""

    @property
    def streams(self) -> bool:
        return "stream" in self.path

    def ask(self) -> Ask:
        found = [one for tool in self.body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
        tools = {str(one["name"]): one.get("parametersJsonSchema") or one.get("parameters") or {} for one in found}
        said: list[tuple[str, str]] = []
        for content in self.body.get("contents") or []:
            for part in content.get("parts") or []:
                if "functionResponse" in part:
                    said.append(("tool", json.dumps(part["functionResponse"].get("response"))))
                elif content.get("role") == "user":
                    said.append(("user", str(part.get("text", ""))))
        return Ask(said, tools)

    def _chunk(self, part: Body, last: bool) -> Body:
        found: Body = {"content": {"role": "model", "parts": [part]}, "index": 0}
        found |= {"finishReason": "STOP"} if last else {}
        usage = {"promptTokenCount": _IN, "candidatesTokenCount": _OUT, "totalTokenCount": _IN + _OUT}
        return {"candidates": [found], "usageMetadata": usage, "modelVersion": "fake"}

    def stream(self, reply: Reply) -> Stream:
        if reply.tool:
            yield "", self.whole(reply)
            return
        words = _words(reply)
        for number, word in enumerate(words, 1):
            yield "", self._chunk({"text": word}, number == len(words))

    def whole(self, reply: Reply) -> Body:
        call = {"functionCall": {"name": reply.tool, "args": reply.arguments}}
        return self._chunk(call if reply.tool else {"text": reply.text}, True)


DIALECTS: dict[str, type[Dialect]] = {
    "/chat/completions": Chat,
    "/responses": Responses,
    "/messages": Messages,
    ":generateContent": Gemini,
    ":streamGenerateContent": Gemini,
}
