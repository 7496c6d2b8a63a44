"""Who looks at a job in the page is told there, and of the others as ever."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.alerts import Receiver, deliverers, rules
from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.web.browser import chromium
from tests.support.web.server import WebServer
from unhang.alerts import presence

FAILS_WHEN_TOLD = (*STILL, "--stdin", "pipe", "--", "sh", "-c", "read x; exit 3")


@pytest.fixture
def web(jobs: Jobs, alerts: Path, receiver: Receiver) -> Iterator[WebServer]:
    alerts.write_text(rules(receiver.url, "failed"))
    server = WebServer(jobs)
    yield server
    server.end()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_a_job_whose_page_is_looked_at_nobody_is_told_elsewhere(
    jobs: Jobs, receiver: Receiver, web: WebServer
) -> None:
    seen, other = jobs.begin(*FAILS_WHEN_TOLD), jobs.begin(*FAILS_WHEN_TOLD)
    with chromium() as browser:
        page = browser.new_page()
        page.goto(web.address)
        page.wait_for_selector("#counts:not(:empty)")  # the address with the token leads on to the page itself
        page.goto(f"{web.origin}/jobs/{seen.id}")
        wait_until((jobs.home / "alerts" / "seen" / seen.id).exists, "the page says that it is looked at")
        for job in (seen, other):
            job.send("\n")
        wait_until(lambda: not deliverers(jobs.home), "all is told")
    assert [alert["jobId"] for value in receiver.values() for alert in value["alerts"]] == [other.id]


def test_a_page_that_was_left_long_ago_is_none_and_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, now = str(tmp_path / "home"), time.time()
    monkeypatch.setenv("UNHANG_ALERTS", str(tmp_path / "alerts.toml"))
    presence.see(home, "a")
    assert not (tmp_path / "home").exists(), "without rules nothing is written"
    (tmp_path / "alerts.toml").touch(0o600)
    presence.see(home, "a")
    assert presence.is_watched(home, "a", {}, now)
    assert not presence.is_watched(home, "b", {}, now)
    assert not presence.is_watched(home, "a", {}, now + 2 * presence.RECENT)
    os.utime(tmp_path / "home" / "alerts" / "seen" / "a", (now - 9999, now - 9999))
    presence.see(home, "b")
    assert os.listdir(tmp_path / "home" / "alerts" / "seen") == ["b"]
