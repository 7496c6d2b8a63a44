"""Every test here gets a place of its own; its watchers, panes and servers end with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alerts.conftest import receiver
from tests.support.sessions.harness import Place, need_tmux

__all__ = ["place", "receiver"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    need_tmux()
    found = Place(tmp_path)
    try:
        yield found
    finally:
        found.end()
