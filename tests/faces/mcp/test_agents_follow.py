"""The real Claude Code and the real Codex, with a model that does what the answers of unhang say, and nothing else.

A prompt, a long build, a leftover, a server and a hang, one after the other: the next call is the right one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.engine import Engine
from tests.support.fakes.models import Anthropic, Call, FakeModel, OpenAI, Say, ScriptedHandler, Search, Step
from tests.support.mcp import follower
from tests.support.mcp.agents import run_claude, run_codex
from tests.support.mcp.harness import Servers

DEADLOCK = "import threading; t = threading.Lock(); t.acquire(); t.acquire()"
SERVER = "import socket; socket.create_server(('127.0.0.1', 0)).accept()"
FIRST: list[dict[str, Any]] = [
    {"command": "printf 'Continue? '; read x; echo got $x", "interactive": True},
    {"command": "sleep 3; echo built", "wait_sec": 1},
    {"command": "setsid sleep 300 & echo done"},
    {"argv": ["python3", "-c", SERVER]},
    {"argv": ["python3", "-c", DEADLOCK]},
]
EXPECTED = ["run", "send", "wait", "run", "wait", "run", "run", "output", "run", "cancel"]
POLICY = '{"extends": "built-in", "stall_sec": 3}'


class FollowingModel(FakeModel):
    """What it does next follows from the results so far, and from these alone."""

    def __init__(self, handler: type[ScriptedHandler], prefix: str, *, searches: bool) -> None:
        super().__init__([], handler)
        self._prefix = prefix
        self._searches = searches
        self.made: list[str] = []

    def step(self, results: list[str]) -> Step:
        if len(results) >= len(self.results):
            self.results = results
        if self._searches and not results:
            return Search("run a command")
        waiting = [follower.Step("run", given) for given in FIRST]
        made = [waiting.pop(0)]
        for text in results[1:] if self._searches else results:
            step = None if made[-1].tool == "output" else recommended(text)
            if step is None and not waiting:
                self.made = [each.tool for each in made]
                return Say("finished")
            made.append(step or waiting.pop(0))
        last = made[-1]
        given = {name: "yes" if value == "…" else value for name, value in last.arguments.items()}
        return Call(f"{self._prefix}{last.tool}", given)


def recommended(text: str) -> follower.Step | None:
    """The first recommended call of a result, be it a text, a list of texts, or the structure of the answer."""
    parts = [text]
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            found = None
        if isinstance(found, list):
            parts = [part["text"] for part in found if isinstance(part, dict) and "text" in part] or parts
        elif isinstance(found, dict) and ("next" in found or "jobs" in found):
            steps = found.get("next") or found.get("jobs", [{}])[0].get("next") or []
            return follower.read_call(steps[0]) if steps else None
    return follower.next_step("\n".join(parts))


def check(model: FollowingModel, servers: Servers) -> None:
    assert model.made == EXPECTED, "\n\n".join(model.results)
    for job in servers.engine.home.joinpath("jobs").iterdir():  # the server still runs, as the text said
        servers.job(job.name).cancel(force=True)


def test_claude_code_is_led_to_the_right_end(servers: Servers, engine: Engine, tmp_path: Path) -> None:
    engine.env["UNHANG_POLICY"] = str(policy(tmp_path))
    with FollowingModel(Anthropic, "mcp__unhang__", searches=False) as model:
        run_claude(servers, engine, tmp_path, model)
        check(model, servers)


def test_codex_is_led_to_the_right_end(servers: Servers, engine: Engine, tmp_path: Path) -> None:
    engine.env["UNHANG_POLICY"] = str(policy(tmp_path))
    with FollowingModel(OpenAI, "mcp__unhang/", searches=True) as model:
        run_codex(servers, engine, tmp_path, model)
        check(model, servers)


def policy(folder: Path) -> Path:
    path = folder / "policy.json"
    path.write_text(POLICY)
    return path
