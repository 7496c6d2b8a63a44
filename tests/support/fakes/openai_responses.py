"""A model service of OpenAI's kind on 127.0.0.1, which answers, fails or hangs as a test says.

What one request gets is said by a tag in the newest user message, `[[hang]]` or `[[shell:sleep 5]]`; without one (a
compaction carries no tag) by `plan`, one entry a request, whose last entry stays.

    pong · text:WORDS · usage:TOKENS · shell:LINE · escalate:LINE (asks for approval) · typed:LINE (at a terminal of
    Codex's, and soon in the background) · slow:SECONDS
    hang (no headers) · hang_headers · hang_mid · trickle (comments for ever) · trickle_ev (in-progress events for ever)
    drop_mid · http:CODE[:TIMES] · ctx (context_length_exceeded) · failed:CODE
"""

from __future__ import annotations

import json
import re
import threading
from typing import Any, cast

from tests.support.fakes.server import Handler, Server, Service

Body = dict[str, Any]

_TAG = re.compile(r"\[\[([a-z_0-9]+)(?::(.*?))?\]\]", re.S)
_TOOLS = ("shell", "escalate", "typed")
_ERRORS = {
    "429": ("rate_limit_exceeded", "Rate limit reached. Please try again in 1s."),
    "401": ("invalid_api_key", "Incorrect API key provided."),
    "400": ("invalid_request_error", "bad request"),
}
_WORDS = {
    "context_length_exceeded": "Your input exceeds the context window of this model.",
    "rate_limit_exceeded": "Rate limit reached. Please try again in 1s.",
}


class FakeOpenAI(Service):
    """Use it as a context; `plan` may be set at any time."""

    def __init__(self, *plan: str) -> None:
        super().__init__(_Handler)
        self._lock = threading.Lock()
        self._plan = list(plan) or ["pong"]
        self._times: dict[str, int] = {}
        self.requests: list[Body] = []

    def plan(self, *scenarios: str) -> None:
        with self._lock:
            self._plan = list(scenarios)
            self._times = {}

    def take(self, body: Body) -> tuple[int, str, str]:
        """The request's number, and what it gets."""
        tag, answered = _newest_tag(body)
        with self._lock:
            self.requests.append(body)
            number = len(self.requests)
            if tag is not None and answered and tag[0] in _TOOLS:
                return number, "text", "done"
            if tag is not None and not answered:
                return number, *tag
            entry = self._plan.pop(0) if len(self._plan) > 1 else self._plan[0]
        name, _, argument = entry.partition(":")
        return number, name, argument

    def count(self, what: str) -> int:
        with self._lock:
            self._times[what] = self._times.get(what, 0) + 1
            return self._times[what]


class _Handler(Handler):
    server: Server

    @property
    def fake(self) -> FakeOpenAI:
        return cast(FakeOpenAI, self.server.service)

    def do_GET(self) -> None:  # noqa: N802
        self.plain(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:  # noqa: N802
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        if not self.path.split("?")[0].endswith("/responses"):
            self.plain(404, {"error": {"message": "not found"}})
            return
        number, name, argument = self.fake.take(body)
        self.close_connection = True
        self._sequence = -1
        self._answer(f"resp_{number}", name, argument)

    def _answer(self, identity: str, name: str, argument: str) -> None:
        if name.isdigit():
            name, argument = "http", name
        if name == "http":
            code, _, times = argument.partition(":")
            if not times or self.fake.count(argument) <= int(times):
                kind, text = _ERRORS.get(code, ("server_error", "The server had an error."))
                self.plain(int(code), {"error": {"message": text, "type": kind, "code": kind, "param": None}})
                return
            name = "pong"
        if name == "hang":
            self.hang()
            return
        self.begin()
        self.wfile.flush()
        match name:
            case "hang_headers":
                self.hang()
            case "hang_mid" | "drop_mid":
                self._begin(identity)
                self.event("response.output_text.delta", **_place(identity), delta="partial ")
                if name == "hang_mid":
                    self.hang()
            case "trickle" | "trickle_ev":
                while not self.fake.stopping.wait(0.3):
                    if name == "trickle":
                        self._write(b": ping\n\n")
                    else:
                        self.event("response.in_progress", response=_response(identity, "in_progress"))
            case "ctx" | "failed":
                code = "context_length_exceeded" if name == "ctx" else argument
                failed = _response(identity, "failed") | {"error": {"code": code, "message": _WORDS.get(code, "no")}}
                self.event("response.created", response=_response(identity, "in_progress"))
                self.event("response.failed", response=failed)
            case "shell" | "escalate" | "typed":
                self._tool(identity, argument or "echo hello", escalated=name == "escalate", typed=name == "typed")
            case "slow":
                self._message(identity, "x" * 8 * int(argument or 3), pause=1.0)
            case _:
                text = argument if name == "text" else "pong"
                self._message(identity, text, int(argument) if name == "usage" else 120)

    # --- the parts ------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def event(self, kind: str, **fields: Any) -> None:
        self._sequence += 1
        super().event(kind, sequence_number=self._sequence, **fields)

    def _begin(self, identity: str) -> Body:
        item = {"id": f"msg_{identity}", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        self.event("response.created", response=_response(identity, "in_progress"))
        self.event("response.output_item.added", output_index=0, item=item)
        return item

    def _message(self, identity: str, text: str, total: int = 120, pause: float = 0.0) -> None:
        item = self._begin(identity)
        for part in re.findall(r".{1,8}", text, re.S) or [""]:
            self.event("response.output_text.delta", **_place(identity), delta=part)
            if pause and self.fake.stopping.wait(pause):
                return
        item |= {"status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
        self.event("response.output_text.done", **_place(identity), text=text)
        self.event("response.output_item.done", output_index=0, item=item)
        self.event("response.completed", response=_response(identity, "completed", [item], total))

    def _tool(self, identity: str, line: str, *, escalated: bool, typed: bool = False) -> None:
        # as long as Codex lets a command stay in the foreground; by default it is in the background after 10 s
        arguments: Body = {"cmd": line, "yield_time_ms": 30_000}
        if escalated:
            arguments |= {"sandbox_permissions": "require_escalated", "justification": "May I run this?"}
        if typed:
            arguments |= {"tty": True, "yield_time_ms": 1000}
        item = {"id": f"fc_{identity}", "type": "function_call", "call_id": f"call_{identity}", "name": "exec_command"}
        done = item | {"status": "completed", "arguments": json.dumps(arguments)}
        self.event("response.created", response=_response(identity, "in_progress"))
        self.event("response.output_item.added", output_index=0, item=item | {"arguments": "", "status": "in_progress"})
        self.event("response.output_item.done", output_index=0, item=done)
        self.event("response.completed", response=_response(identity, "completed", [done], 120))


def _place(identity: str) -> Body:
    return {"item_id": f"msg_{identity}", "output_index": 0, "content_index": 0}


def _response(identity: str, status: str, output: list[Body] | None = None, total: int | None = None) -> Body:
    usage: Body | None = None
    if total is not None:
        written = min(20, total)
        usage = {"input_tokens": total - written, "output_tokens": written, "total_tokens": total}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": identity, "object": "response", "created_at": 0, "status": status, "model": "fake"}
    return head | {"output": output or [], "usage": usage, "error": None}


def _newest_tag(body: Body) -> tuple[tuple[str, str] | None, bool]:
    """The tag of the newest user message, and whether a tool has answered since."""
    found: tuple[str, str] | None = None
    answered = False
    for item in body.get("input") or []:
        if item.get("type") == "message" and item.get("role") == "user":
            content = item.get("content")
            text = "".join(part.get("text", "") for part in content) if isinstance(content, list) else str(content)
            match = _TAG.search(text)
            if match:
                found, answered = (match.group(1), match.group(2) or ""), False
            elif not text.lstrip().startswith("<"):  # Codex puts its own context into user messages
                found, answered = None, False
        elif str(item.get("type", "")).endswith("_output"):
            answered = True
    return found, answered
