"""Every test here gets a state directory of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobs import Jobs
from tests.support.outside.trap import Trap


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path)
    yield jobs
    jobs.leave_nothing()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)
