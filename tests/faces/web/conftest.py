"""Every test has a state directory of its own and a server of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.conftest import jobs, nothing_is_left
from tests.support.jobs import Jobs
from tests.support.web.server import WebServer

__all__ = ["jobs", "nothing_is_left", "web"]


@pytest.fixture
def web(jobs: Jobs) -> Iterator[WebServer]:
    server = WebServer(jobs)
    yield server
    server.end()
