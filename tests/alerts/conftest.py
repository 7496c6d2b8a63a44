"""Every test has a home, an alerts.toml and a receiver of its own, and leaves no deliverer behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.conftest import jobs, nothing_is_left
from tests.support.alerts import Receiver, end_deliverers
from tests.support.jobs import Jobs

__all__ = ["jobs", "nothing_is_left"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def alerts(jobs: Jobs, tmp_path: Path) -> Iterator[Path]:
    """The file that holds the rules of this test; whoever delivers is ended with the test."""
    path = tmp_path / "alerts.toml"
    jobs.env["UNHANG_ALERTS"] = str(path)
    yield path
    end_deliverers(jobs.home)
