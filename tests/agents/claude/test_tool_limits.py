"""The limits of Claude's tools, as its driver tells them to the keeper: the user's policy holds for its commands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.claude.driver import ClaudeDriver
from unhang.agents.claude.plan import ClaudePlan
from unhang.core.policy import builtin
from unhang.core.policy.file.load import load
from unhang.core.policy.model import Policy
from unhang.keeper.agent_channel import VARIABLE

POLICY = """
version = "1.0"
extends = "built-in"
[categories.brief]
exec_timeout_sec = 45
[command_patterns]
brief = ["^make slow"]
"""

Window = Callable[[Policy, str], float]


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Window:
    """The window that the driver asks of its keeper when Claude begins a command."""

    def told(policy: Policy, command: str) -> float:
        there, ours = os.pipe()
        monkeypatch.setenv(VARIABLE, str(ours))
        with open(there) as lines:
            try:
                driver = ClaudeDriver(ClaudePlan(task="x"), KeeperChannel(), policy)
                use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
                driver._hear({"type": "assistant", "message": {"content": [use]}})
            finally:
                os.close(ours)
            return next(float(line["window"]) for line in map(json.loads, lines) if line.get("window"))

    return told


def test_the_hard_limit_of_the_users_policy_holds_for_a_command_of_claudes(window: Window) -> None:
    policy = load(POLICY, "p", toml=True)
    assert window(policy, "make slow") == 45.0
    assert window(policy, "make quick") == window(builtin.policy(), "make quick")


def test_claudes_own_timeout_is_shorter_than_what_the_built_in_policy_allows(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert window(builtin.policy(), "make slow") == 180.0
    monkeypatch.setenv("BASH_DEFAULT_TIMEOUT_MS", "30000")
    assert window(builtin.policy(), "make slow") == 90.0
