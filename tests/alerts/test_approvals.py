"""A real Codex asks for an approval; a person presses a button of the alert, far from any terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.codex.conftest import bench, fake
from tests.agents.codex.test_approvals import ASKS
from tests.alerts.test_links import opened, pressed, with_page
from tests.support.alerts import Receiver, end_deliverers, rules
from tests.support.codex.harness import Bench
from tests.support.jobs import wait_until
from tests.support.web.server import WebServer

__all__ = ["bench", "fake"]
# Nothing here is to be ended by a limit, however slow the machine is.
LONG = ("--approvals", "ask", "--approval-wait", "10m", "--idle", "10m", "--hard", "10m")


@pytest.fixture
def page(bench: Bench, receiver: Receiver, tmp_path: Path) -> Iterator[WebServer]:
    """The page of the bench, named in an alerts.toml that tells of approvals."""
    path = tmp_path / "alerts.toml"
    bench.env["UNHANG_ALERTS"] = str(path)
    server = WebServer(bench)
    path.write_text(with_page(rules(receiver.url, "needs_approval"), server))
    yield server
    server.end()
    end_deliverers(bench.home)


def test_codex_does_what_was_approved_and_not_what_was_denied_by_the_buttons_of_its_alerts(
    bench: Bench, receiver: Receiver, page: WebServer
) -> None:
    acts = ("approve", "deny")
    jobs = {act: bench.begun(f"[[escalate:touch {bench.workspace}/{act}]]", *ASKS, *LONG) for act in acts}

    def told() -> dict[str, dict[str, str]]:
        """Job → act → address."""
        alerts = [alert for value in receiver.values() for alert in value["alerts"]]
        assert {alert["kind"] for alert in alerts} <= {"needs_approval"}
        found = {alert["jobId"]: {each["act"]: each["url"] for each in alert["actions"]} for alert in alerts}
        return found if len(found) == len(jobs) else {}

    urls = wait_until(told, "both ask", timeout=120)
    for act, job in jobs.items():
        mine = urls[job.id]
        assert set(mine) == {"approve", "deny", "cancel"}
        asked = opened(page, mine[act])
        assert (asked.status, f"touch {bench.workspace}/{act}" in asked.body.decode()) == (200, True)
        assert pressed(page, mine[act]).status == 200
        for other in mine.values():
            assert pressed(page, other).status in (409, 410), "all links of one question are spent together"
        assert job.wait(300).ok
        (decided,) = [event for event in job.events() if event.get("decision")]
        assert (decided["decision"], decided["by"]) == ({"approve": "accepted", "deny": "denied"}[act], "answer")
    assert [(bench.workspace / act).exists() for act in acts] == [True, False]
