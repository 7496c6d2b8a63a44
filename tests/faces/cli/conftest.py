"""A state directory for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.hooks import Hooks
from tests.support.jobs import Jobs


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    hooks = Hooks(tmp_path)
    yield hooks
    hooks.close()
    left = hooks.left_over()
    assert not left, f"still running after the test: {left}"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path)
    yield jobs
    jobs.close()
    jobs.end_everything()
    left = jobs.left_over()
    assert not left, f"still running after the test: {left}"
