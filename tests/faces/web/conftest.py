"""Every test has a state directory of its own and a server of its own, and must leave no process behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.jobs.conftest import jobs, nothing_is_left
from tests.support.jobs import Jobs
from tests.support.web.browser import Watched, chromium
from tests.support.web.server import WebServer

__all__ = ["browser", "jobs", "nothing_is_left", "watched", "web"]


@pytest.fixture
def web(jobs: Jobs) -> Iterator[WebServer]:
    server = WebServer(jobs)
    yield server
    server.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def watched(browser: Browser, web: WebServer) -> Iterator[Watched]:
    """A page that has entered by the printed address; no error, no warning, no foreign request in the end."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    found = Watched(context.new_page(), web.origin)
    found.page.goto(web.address)
    found.page.wait_for_url(f"{web.origin}/")
    yield found
    context.close()
    assert found.problems == []
