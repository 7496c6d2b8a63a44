"""Arguments that a tool does not have are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.faces.mcp.argument_check import ArgumentCheck
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.server import build
from unhang.faces.mcp.settings import Settings


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArgumentCheck:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path))
    return ArgumentCheck(build(Backend(Settings())))


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
def test_the_nearest_argument_is_named(check: ArgumentCheck, tool: str, given: dict[str, object], nearest: str) -> None:
    found = check.problem(tool, given)
    assert found is not None
    assert nearest in found.split("It takes")[0].split("it takes")[0]
    assert len(found.splitlines()) == 1


def test_a_value_of_another_type_is_named_in_one_line(check: ArgumentCheck) -> None:
    found = check.problem("run", {"command": "x", "timeout_sec": "soon"})
    assert found is not None
    assert found.startswith("run: timeout_sec: ")
    assert len(found.splitlines()) == 1
    assert "pydantic" not in found


def test_what_is_right_is_let_through_and_a_tool_that_is_not_there_is_named(check: ArgumentCheck) -> None:
    assert check.problem("run", {"command": "x", "timeout_sec": 5, "env": {"A": "b"}}) is None
    assert check.problem("run", {"command": "x", "wait_sec": None}) is None
    found = check.problem("shell", {})
    assert found is not None
    assert "explain_policy" in found
