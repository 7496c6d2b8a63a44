"""One model service on 127.0.0.1 for every agent that the tests drive over ACP: it speaks OpenAI's chat and responses,
Anthropic's messages and Gemini's generateContent, told apart by the path.

What a request gets is said by a tag in the newest user message, as in `openai_responses`:

    text:WORDS · shell:LINE (the agent's own shell tool) · escalate:LINE (the same, where Codex has to ask first)
    write:PATH:WORDS (its own tool for files) · slow:SECONDS
    hang (no headers) · hang_mid (after half of its words) · http:CODE

A tool that has answered ends in "done: " and what it said. Requests without tools are the agent's own business (titles,
summaries, a look at the model): they get "pong", and are not counted.
"""

from __future__ import annotations

import json
import re
import threading
from typing import cast

from tests.support.fakes.acp_dialects import DIALECTS, Ask, Body, Dialect, Reply
from tests.support.fakes.server import Handler, Server, Service

_TAG = re.compile(r"\[\[([a-z_]+)(?::(.*?))?\]\]", re.S)
_SHELL = re.compile(r"^(bash|shell|run_shell_command|exec_command|terminal)$", re.I)
_WRITE = re.compile(r"^(write|write_file|writefile|create_file)$", re.I)
_TOOLS = {"shell": _SHELL, "escalate": _SHELL, "write": _WRITE}


class FakeModels(Service):
    """Use it as a context. `asked`: the tag of every request that carried tools, in order."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self._lock = threading.Lock()
        self.asked: list[str] = []
        self.results: list[str] = []  # what the tools told the model
        self.strangers: list[str] = []  # paths that nobody here knows
        self.requests: list[Body] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, ask: Ask) -> Reply:
        if not ask.tools:
            return Reply("pong")
        name, value, results = _newest_tag(ask.said)
        with self._lock:
            self.asked.append(name)
            self.results = results or self.results
        if name in _TOOLS:
            if results:
                return Reply(f"done: {results[-1][:300]}")
            for tool, schema in ask.tools.items():
                if _TOOLS[name].match(tool):
                    return Reply(tool=tool, arguments=_arguments(schema, name, value))
            return Reply(f"there is no tool for {name} among {sorted(ask.tools)}")
        if name == "text":
            return Reply(value)
        return Reply("pong" * 20 if name in ("hang_mid", "slow") else "pong", how=name, value=value)


def _newest_tag(said: list[tuple[str, str]]) -> tuple[str, str, list[str]]:
    """Its name and value, and what tools have answered since."""
    found, results = ("", ""), list[str]()
    for who, text in said:
        tags = list(_TAG.finditer(text)) if who == "user" else []
        if tags:  # a task that was cancelled may stand before it in the same message
            found, results = (tags[-1].group(1), tags[-1].group(2) or ""), []
        elif who == "tool":
            results.append(text)
    return *found, results


def _arguments(schema: Body, name: str, value: str) -> Body:
    """For a tool whose arguments are called one way here and another way there."""
    path, _, words = value.partition(":")
    known: Body = {}
    for key, about in (schema.get("properties") or {}).items():
        kind = about.get("type") if isinstance(about, dict) else None
        if name != "write" and key in ("command", "cmd", "script"):
            known[key] = ["bash", "-lc", value] if kind == "array" else value
        elif name == "write" and key in ("path", "file_path", "filePath", "absolute_path"):
            known[key] = path
        elif name == "write" and key in ("content", "contents", "text"):
            known[key] = words
        elif name == "escalate" and key == "sandbox_permissions":
            known |= {key: "require_escalated", "justification": "May I run this?"}
        elif key in (schema.get("required") or []):
            known[key] = {"string": "as asked", "boolean": False, "array": [], "object": {}}.get(str(kind), 1)
    return known


class _Handler(Handler):
    server: Server
    timeout = 100  # a kept connection ends before a test's own limit; nothing is ever said on it twice

    @property
    def fake(self) -> FakeModels:
        return cast(FakeModels, self.server.service)

    def do_GET(self) -> None:  # noqa: N802
        self.close_connection = True
        model = {"id": "fake-model", "object": "model", "owned_by": "nobody", "context_length": 100_000}
        self.plain(200, {"object": "list", "data": [model], "models": []})

    def do_POST(self) -> None:  # noqa: N802
        self.close_connection = True
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        fake, path = self.fake, self.path.partition("?")[0]
        if not isinstance(body, dict):
            self.plain(400, {})
            return
        dialect = next((dialect for end, dialect in DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            if not path.endswith("count_tokens"):
                fake.strangers.append(path)
            self.plain(200, {"input_tokens": 90})
            return
        fake.requests.append(body)
        spoken = dialect(body, path)
        self._send(spoken, fake.answer(spoken.ask()))

    def _send(self, spoken: Dialect, reply: Reply) -> None:
        if reply.how == "http":
            self.plain(int(reply.value), {"error": {"message": f"failed with {reply.value}", "type": "server_error"}})
            return
        if reply.how == "hang":
            self.hang()
            return
        if not spoken.streams:
            self.plain(200, spoken.whole(reply))
            return
        self.begin()
        events = list(spoken.stream(reply))
        for number, (kind, value) in enumerate(events):
            if number >= len(events) // 2 and reply.how == "hang_mid":
                self.hang()
                return
            if reply.how == "slow" and self.fake.stopping.wait(float(reply.value) / 20):
                return
            head = f"event: {kind}\n" if kind else ""
            data = value if isinstance(value, str) else json.dumps(value)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
            self.wfile.flush()
