"""A state directory for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.hooks import Hooks


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    hooks = Hooks(tmp_path)
    yield hooks
    hooks.close()
    left = hooks.left_over()
    assert not left, f"still running after the test: {left}"
