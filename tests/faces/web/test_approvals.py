"""An approval that the real Codex asks for is given or refused by a button of the page, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Request

from tests.support import programs
from tests.support.codex.harness import Bench
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.web.browser import Watched
from tests.support.web.server import WebServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ASKS = ("--ask-for-approval", "on-request", "--sandbox", "read-only", "--approvals", "ask", "--approval-wait", "4m")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Bench]:
    """The jobs of the page are those of a Codex with a model of the test's own."""
    with FakeOpenAI() as fake:
        yield Bench(tmp_path, fake, programs.path_of(programs.CODEX))


def test_the_button_that_is_pressed_decides_whether_the_command_of_codex_runs(
    jobs: Bench, web: WebServer, watched: Watched
) -> None:
    """A double click is one answer, and a yes that comes late is none to the next question."""
    page, earlier = watched.page, "2026-01-01T00:00:00.000Z"
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            sent.append(request.url)

    page.on("request", note)
    for button, decision in (("Yes", "accepted"), ("No", "denied")):
        done = jobs.workspace / button
        job = jobs.begun(f"[[escalate:touch {done}]]", *ASKS, "--idle", "5m", "--hard", "5m")
        row = page.locator(f"#r-{job.id}")
        pressed = row.get_by_role("button", name=button, exact=True)
        pressed.wait_for()
        assert row.get_attribute("data-group") == "attention"
        assert str(done) in row.inner_text()
        assert not done.exists()
        assert web.post(f"/api/jobs/{job.id}/send", {"text": "yes", "question": earlier}).status == 409
        sent.clear()
        pressed.dblclick()
        page.wait_for_selector(f"#r-{job.id}[data-group=done]")
        assert sent == [f"{web.origin}/api/jobs/{job.id}/send"]
        assert pressed.count() == 0
        (answer,) = [event for event in job.events() if event.get("decision")]
        assert (answer["decision"], answer["by"]) == (decision, "answer")
        assert done.exists() == (decision == "accepted")
