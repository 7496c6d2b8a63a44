"""Arguments that a tool does not have are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.faces.mcp.argument_check import problem_of
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.toolbox import Toolbox


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolbox:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path))
    return Server(Backend(Settings())).tools


@pytest.mark.parametrize(
    ("tool", "given", "nearest"),
    [
        ("run", {"command": "x", "timeout": 5}, "timeout_sec"),
        ("run", {"command": "x", "timeoutSec": 5}, "timeout_sec"),
        ("run", {"command": "x", "idle_timeout_ms": 5}, "idleTimeoutMs"),
        ("run", {"cmd": "x"}, "command"),
        ("run", {"command": "x", "workdir": "/"}, "cwd"),
        ("run", {"command": "x", "run_in_background": True}, "start"),
        ("wait", {"jobId": "x"}, "job_id"),
        ("send", {"job_id": "x", "input": "y"}, "text"),
        ("events", {"job_id": "x", "after_seq": 1}, "afterSeq"),
    ],
)
def test_the_nearest_argument_is_named(tools: Toolbox, tool: str, given: dict[str, object], nearest: str) -> None:
    found = problem_of(tools, tool, given)
    assert found is not None
    assert nearest in found.split("It takes")[0].split("it takes")[0]
    assert len(found.splitlines()) == 1


def test_a_value_of_another_type_is_named_in_one_line(tools: Toolbox) -> None:
    found = problem_of(tools, "run", {"command": "x", "timeout_sec": "soon"})
    assert found is not None
    assert found.startswith("run: timeout_sec: ")
    assert len(found.splitlines()) == 1
    assert "pydantic" not in found


def test_what_is_right_is_let_through_and_a_tool_that_is_not_there_is_named(tools: Toolbox) -> None:
    assert problem_of(tools, "run", {"command": "x", "timeout_sec": 5, "env": {"A": "b"}}) is None
    assert problem_of(tools, "run", {"command": "x", "wait_sec": None}) is None
    found = problem_of(tools, "shell", {})
    assert found is not None
    assert "explain_policy" in found
