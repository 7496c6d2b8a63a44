"""An editor, as far as an agent can tell: speaks ACP by hand, byte by byte, and writes down what was said."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Message = dict[str, Any]
# Far more than a loaded machine needs: what takes longer does not come.
PATIENCE = 60.0


class Said(NamedTuple):
    who: str  # editor or agent
    line: bytes


class Editor:
    """`permit`: the kind of option that a permission request is answered with; None: it is left open."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        *,
        permit: str | None = "allow_once",
        terminal: bool = False,
        stderr: int | Any = subprocess.DEVNULL,
    ) -> None:
        pipe = subprocess.PIPE
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=stderr, env=env, cwd=cwd, bufsize=0
        )
        self.transcript: list[Said] = []
        self.heard: list[Message] = []
        self.session = ""
        self.cwd = cwd
        self._permit = permit
        self._terminal = terminal
        self._rest: list[bytes] = []
        self._last = -1

    # --- saying ---------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self.process.stdin.fileno(), view) :]

    def send(self, message: Message) -> None:
        line = json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False).encode() + b"\n"
        self.transcript.append(Said("editor", line))
        self.write(line)

    def ask(self, method: str, **params: Any) -> int:
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    def prompt(self, text: str, session: str | None = None) -> int:
        return self.ask("session/prompt", sessionId=session or self.session, prompt=[{"type": "text", "text": text}])

    def cancel(self) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": self.session}})

    # --- hearing --------------------------------------------------------------------------------------------

    def read(self, timeout: float) -> bool:
        """Once; False: nothing came, or nothing will."""
        assert self.process.stdout is not None
        poll = select.poll()
        poll.register(self.process.stdout.fileno(), select.POLLIN)
        if not poll.poll(max(0.0, timeout) * 1000):
            return False
        chunk = os.read(self.process.stdout.fileno(), 1 << 18)
        self._rest.append(chunk)
        if b"\n" not in chunk:
            return bool(chunk)
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest = [rest]
        for line in lines:
            self.transcript.append(Said("agent", line + b"\n"))
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self.heard.append(message)
                if message.get("method") == "session/request_permission" and self._permit is not None:
                    self._allow(message)
        return bool(chunk)

    def _allow(self, message: Message) -> None:
        for option in message["params"]["options"]:
            if option["kind"] == self._permit:
                outcome = {"outcome": "selected", "optionId": option["optionId"]}
                self.send({"id": message["id"], "result": {"outcome": outcome}})
                return
        self.send({"id": message["id"], "result": {"outcome": {"outcome": "cancelled"}}})

    def until(self, meant: Callable[[Message], bool], what: str = "a message", timeout: float = PATIENCE) -> Message:
        deadline = time.monotonic() + timeout
        looked = 0
        while True:
            for message in self.heard[looked:]:
                if meant(message):
                    return message
            looked = len(self.heard)
            if not self.read(deadline - time.monotonic()):
                shown = [json.dumps(message)[:300] for message in self.heard[-8:]]
                raise TimeoutError(f"{what} did not come; the last that came: {shown}")

    def answer(self, id: int, timeout: float = PATIENCE) -> Message:
        return self.until(lambda m: m.get("id") == id and "method" not in m, f"an answer to {id}", timeout)

    def answers(self, id: int) -> list[Message]:
        return [message for message in self.heard if message.get("id") == id and "method" not in message]

    def texts(self, kind: str = "agent_message_chunk") -> list[str]:
        found: list[str] = []
        for message in self.heard:
            update = (message.get("params") or {}).get("update") or {}
            if update.get("sessionUpdate") == kind and isinstance(update.get("content"), dict):
                found.append(str(update["content"].get("text", "")))
        return found

    # --- the usual ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": self._terminal}
        info = {"name": "editor", "title": "Editor", "version": "1.0.0"}
        hello = self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=info)
        assert "result" in self.answer(hello), self.answer(hello)
        new = self.answer(self.ask("session/new", cwd=str(self.cwd), mcpServers=[]))
        assert "result" in new, new
        self.session = new["result"]["sessionId"]

    def turn(self, text: str, timeout: float = PATIENCE) -> str:
        """A prompt to its end: the stop reason."""
        answer = self.answer(self.prompt(text), timeout)
        assert "result" in answer, answer
        return str(answer["result"]["stopReason"])

    def close(self, timeout: float = PATIENCE) -> int:
        """As an editor that is left: its side is closed, the rest is read."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        while self.read(timeout):
            pass
        self.process.stdout.close()
        return self.process.wait(timeout)

    def drop(self) -> None:
        """As an editor that is gone."""
        for end in (self.process.stdin, self.process.stdout):
            if end is not None:
                end.close()


Open = Callable[..., Editor]
