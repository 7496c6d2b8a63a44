"""Every test has a tmux server, a configuration, a state directory and a model of its own, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.claude.conftest import fake
from tests.support.claude_sessions.harness import Desk, need_programs
from tests.support.fakes.anthropic_messages import FakeAnthropic

__all__ = ["desk", "fake"]


@pytest.fixture
def desk(tmp_path: Path, fake: FakeAnthropic) -> Iterator[Desk]:
    need_programs()
    desk = Desk(tmp_path, fake)
    yield desk
    desk.end()
    desk.close()
    desk.end_watcher()
    left = desk.left_over()
    assert not left, f"still running after the test: {left}"
