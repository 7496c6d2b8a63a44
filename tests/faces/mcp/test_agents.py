"""The real Claude Code and the real Codex, each with a fake model that calls `run` on a command that hangs.

What counts: the model is told about the timeout, with what was printed and why, and the turn goes on to its end.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.engine import Engine
from tests.support.fakes.models import Anthropic, Call, FakeModel, OpenAI, Say, Search, Step
from tests.support.mcp.agents import run_claude, run_codex
from tests.support.mcp.harness import Servers

HANGS = {"command": "echo half way; tail -f /dev/null", "idleTimeoutMs": 2000}
NEXT = {"command": "echo going on"}


def told(model: FakeModel) -> None:
    """What the model has read: the timeout, the output so far, the reason; then the next step's output."""
    first, second = model.results[-2:]
    # one shows its model the text of an error, the other the structure
    assert "TIMED OUT" in first or '"no_output_timeout"' in first.replace("\\", "")
    assert "half way" in first
    assert "tail" in first[first.index("half way") :] or "Why:" in first
    assert "going on" in second


def test_claude_code_is_told_and_goes_on(servers: Servers, engine: Engine, tmp_path: Path) -> None:
    script: list[Step] = [Call("mcp__unhang__run", HANGS), Call("mcp__unhang__run", NEXT), Say("finished")]
    with FakeModel(script, Anthropic) as model:
        run_claude(servers, engine, tmp_path, model)
        told(model)


def test_codex_is_told_and_goes_on(servers: Servers, engine: Engine, tmp_path: Path) -> None:
    script: list[Step] = [
        Search("run a command"),
        Call("mcp__unhang/run", HANGS),
        Call("mcp__unhang/run", NEXT),
        Say("finished"),
    ]
    with FakeModel(script, OpenAI) as model:
        run_codex(servers, engine, tmp_path, model)
        told(model)
