"""A model service of Anthropic's kind on 127.0.0.1, which answers, fails or hangs as a test says.

What a request gets is said by the newest text of the user in it: a line `fake: VERB ARGS`; without one, "pong".

    say TEXT · bash LINE · tool NAME JSON · tools [[NAME, INPUT], …] (parallel calls)
    hang (no headers) · hang-headers · hang-mid · hang-tool (half of a call) · ping-forever
    drip N SECONDS · think N SECONDS (N words, so far apart)
    status CODE · close-mid
    seq [{"text": …}, {"tools": [[NAME, INPUT], …]}, {"hang": 1}]   one entry a request of the turn

A tool's result is answered "pong after tool: …". The nested requests of WebSearch and WebFetch (no tools of ours in
them) hang if their text holds the word "hang". `silent_port` takes connections and never says a word.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, cast

from tests.support.fakes.server import Handler, Server, Service

Body = dict[str, Any]

_DIRECTIVE = re.compile(r"^\s*fake:\s*(\S+)[ \t]*(.*)$", re.M)
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Seen(NamedTuple):
    """One request: what it asked for and what it carried."""

    verb: str
    args: str
    steps: int  # tool results since the directive
    result: str  # the newest tool result
    text: str  # everything the user said in it since the last answer of the assistant
    side: bool  # a nested request of a tool
    body: Body


class FakeAnthropic(Service):
    """Use it as a context."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.changed = threading.Condition()
        self.requests: list[Seen] = []
        self.gone: list[str] = []  # the verbs of requests whose client went away before the end
        # The kernel completes connections that nobody accepts: as silent as a server can be.
        self._silent = socket.create_server(("127.0.0.1", 0), backlog=16)

    @property
    def silent_port(self) -> int:
        return int(self._silent.getsockname()[1])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._silent.close()
        super().__exit__(kind, error, at)

    def wait_for(self, wanted: Callable[[Seen], bool], what: str, timeout: float = 60) -> Seen:
        """The first request that is wanted, as soon as it has come."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                for seen in self.requests:
                    if wanted(seen):
                        return seen
                if not self.changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() > deadline:
                    came = [(seen.verb, seen.text[:80]) for seen in self.requests]
                    raise TimeoutError(f"no request within {timeout} s: {what}; came: {came}")

    def wait_gone(self, verb: str, timeout: float = 60) -> None:
        """Until the client of such a request has gone away before its end."""
        with self.changed:
            if not self.changed.wait_for(lambda: verb in self.gone, timeout):
                raise TimeoutError(f"no client has left a {verb!r} within {timeout} s; gone: {self.gone}")

    def wait_for_text(self, text: str, timeout: float = 60) -> Seen:
        return self.wait_for(lambda seen: text in seen.text, f"with {text!r}", timeout)


def decide(body: Body) -> tuple[str, str, int, str]:
    """Verb, arguments, how many results of tools came after them, the newest result."""
    steps, result = 0, ""
    for message in reversed(body.get("messages", [])):
        if message.get("role") != "user":  # Claude also puts messages of role "system" into the conversation
            continue
        answered = False
        for block in reversed(_blocks(message.get("content"))):
            if block.get("type") == "text":
                if found := _DIRECTIVE.findall(block["text"]):
                    return found[-1][0], found[-1][1].strip(), steps, result
                if _is_said(block["text"]):
                    return "", "", steps, result
            elif block.get("type") == "tool_result":
                answered = True
                content = block.get("content")
                result = result or (content if isinstance(content, str) else json.dumps(content))
        steps += answered
    return "", "", steps, result


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else (content or [])


def _is_said(text: str) -> bool:
    return bool(text.strip()) and not text.lstrip().startswith(("<system-reminder", "[Request interrupted"))


def _newest_text(body: Body) -> str:
    texts: list[str] = []
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "assistant":
            break
        texts += [block["text"] for block in _blocks(message.get("content")) if block.get("type") == "text"]
    return "\n".join(reversed(texts))


class _Handler(Handler):
    server: Server

    @property
    def fake(self) -> FakeAnthropic:
        return cast(FakeAnthropic, self.server.service)

    def do_HEAD(self) -> None:  # noqa: N802
        self.plain(200, {})

    def do_GET(self) -> None:  # noqa: N802
        self.plain(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        self.close_connection = True
        if path != "/v1/messages":
            self.plain(200 if path.endswith("/count_tokens") else 404, {"input_tokens": 10})
            return
        names = [tool.get("name") for tool in body.get("tools") or []]
        seen = Seen(*decide(body), _newest_text(body), names in ([], ["web_search"]), body)
        fake = self.fake
        with fake.changed:
            fake.requests.append(seen)
            self._number = len(fake.requests)
            fake.changed.notify_all()
        try:
            self._answer(seen, str(body.get("model")), stream=bool(body.get("stream")))
        except OSError:
            self._left(seen.verb or "text")

    def _answer(self, seen: Seen, model: str, *, stream: bool) -> None:
        verb, args = seen.verb, seen.args
        if seen.side:
            verb = "hang" if "hang" in json.dumps(seen.body.get("messages")) else ""
        elif seen.steps and verb in ("bash", "tool", "tools"):
            verb, args = "say", f"pong after tool: {seen.result[:200]}"
        if verb == "hang":
            self._hang(verb)
        elif verb == "status":
            code = int(args.split()[0])
            kind = _ERRORS.get(code, "api_error")
            self.plain(code, {"type": "error", "error": {"type": kind, "message": f"fake error {code}"}})
        elif stream:
            self._stream(model, verb, args, seen.steps)
        elif verb in ("hang-headers", "hang-mid", "hang-tool", "ping-forever"):
            self._hang(verb)
        else:  # what Claude falls back to when a stream broke
            text = {"type": "text", "text": args if verb == "say" else "pong"}
            self.plain(200, self._message(model) | {"content": [text], "stop_reason": "end_turn"})

    def _stream(self, model: str, verb: str, args: str, steps: int) -> None:
        if verb == "seq":
            entries = json.loads(args)
            entry = entries[steps] if steps < len(entries) else {"text": "pong after seq"}
            if "hang" in entry:
                self._hang(verb)
                return
        else:
            entry = _entry(verb, args)
        self.begin()
        if verb == "hang-headers":
            self._hang(verb)
            return
        self.event("message_start", message=self._message(model) | {"content": [], "stop_reason": None})
        if verb in ("hang-mid", "close-mid", "ping-forever"):
            self._begin(0, {"type": "text", "text": ""}, "text_delta", text="I am thinking about ")
            if verb == "ping-forever":
                self._ping(verb)
            elif verb == "hang-mid":
                self._hang(verb)
            return
        if verb == "hang-tool":
            self._begin(0, _call(self._number, 0, "Bash"), "input_json_delta", partial_json='{"command": "ec')
            self._hang(verb)
            return
        if verb == "drip":
            self._drip(args, {"type": "text", "text": ""}, "text_delta", "text")
        elif verb == "think":
            self._drip(args, {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking")
        for place, text in enumerate([entry["text"]] if entry.get("text") else [], verb == "think"):
            self._begin(place, {"type": "text", "text": ""}, "text_delta", text=text)
            self.event("content_block_stop", index=place)
        for place, (name, given) in enumerate(entry.get("tools", []), bool(entry.get("text"))):
            call = _call(self._number, place, name)
            self._begin(place, call, "input_json_delta", partial_json=json.dumps(given))
            self.event("content_block_stop", index=place)
        reason = "tool_use" if entry.get("tools") else "end_turn"
        self.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 7})
        self.event("message_stop")

    def _message(self, model: str) -> Body:
        usage = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
        message = {"id": f"msg_{self._number:020d}", "type": "message", "role": "assistant", "model": model}
        return message | {"stop_sequence": None, "usage": usage}

    def _begin(self, place: int, block: Body, kind: str, **delta: str) -> None:
        self.event("content_block_start", index=place, content_block=block)
        self.event("content_block_delta", index=place, delta={"type": kind} | delta)

    def _drip(self, args: str, block: Body, kind: str, field: str) -> None:
        count, seconds = args.split()
        self.event("content_block_start", index=0, content_block=block)
        for number in range(int(count)):
            self.event("content_block_delta", index=0, delta={"type": kind, field: f"word{number} "})
            if self.fake.stopping.wait(float(seconds)):
                return
        self.event("content_block_stop", index=0)

    def _ping(self, verb: str) -> None:
        try:
            while not self.fake.stopping.wait(0.5):
                self.event("ping")
        except OSError:
            self._left(verb)

    def _hang(self, verb: str) -> None:
        """Until the client goes, or the test ends."""
        if self.hang():
            self._left(verb)

    def _left(self, verb: str) -> None:
        fake = self.fake
        with fake.changed:
            fake.gone.append(verb)
            fake.changed.notify_all()


def _entry(verb: str, args: str) -> Body:
    """What a turn says and calls, in the form of an entry of `seq`."""
    match verb:
        case "bash":
            return {"tools": [["Bash", {"command": args, "description": "fake command"}]]}
        case "tool":
            name, _, given = args.partition(" ")
            return {"tools": [[name, json.loads(given or "{}")]]}
        case "tools":
            return {"text": "several tools", "tools": json.loads(args)}
        case "say":
            return {"text": args}
        case "drip":
            return {}
        case "think":
            return {"text": "thought about it"}
    return {"text": "pong"}


def _call(number: int, place: int, name: str) -> Body:
    return {"type": "tool_use", "id": f"toolu_{number:012d}{place:010d}", "name": name, "input": {}}
