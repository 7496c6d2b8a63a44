"""Every test has a state directory of its own, and must leave no process behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import MARK
from tests.support.fork_servers import end_fork_server
from tests.support.jobs import Jobs
from unhang.jobs import start
from unhang.testing.liveness import RollCall


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


@pytest.fixture(autouse=True)
def nothing_is_left(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library runs in this process, with a fork server of the test's own."""
    for name in [name for name in os.environ if name.startswith("UNHANG_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setenv("UNHANG_HOME", str(jobs.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", jobs.env["XDG_CONFIG_HOME"])
    monkeypatch.setenv(MARK, jobs.mark)
    start.default_launcher.cache_clear()
    yield
    jobs.close()
    jobs.end_everything()
    end_fork_server()
    left = jobs.left_over()
    assert not left, f"still running after the test: {left}"


@pytest.fixture
def roll(jobs: Jobs) -> Iterator[RollCall]:
    with jobs.roll() as roll:
        yield roll
