"""A real Codex asks for approvals: one is given by a key of `top`, the other is denied by what the page's No sends."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.agents.codex.conftest import bench, fake
from tests.agents.codex.test_approvals import ASKS
from tests.faces.top.test_top import cells, drive
from tests.support.codex.harness import Bench
from tests.support.jobs import wait_until
from tests.support.pilot import until
from tests.support.web.server import WebServer
from unhang.faces.top.app import TopApp

__all__ = ["bench", "fake"]
# Nothing here is to be ended by a limit, however slow the machine is.
LONG = ("--approvals", "ask", "--approval-wait", "10m", "--idle", "10m", "--hard", "10m")

pytestmark = pytest.mark.timeout(300)


def test_yes_in_top_and_no_on_the_page_reach_a_real_agent(bench: Bench) -> None:
    server = WebServer(bench)
    made = {name: bench.begun(f"[[escalate:touch {bench.workspace}/{name}]]", *ASKS, *LONG) for name in ("yes", "no")}

    def asking() -> dict[str, str]:
        entries = server.get("/api/overview").json["entries"]
        return {
            entry["id"]: entry["attention"]["why"]
            for entry in entries
            if entry["state"] == "needs approval" and "touch" in entry["attention"]["why"]
        }

    found = wait_until(lambda: seen if len(seen := asking()) == 2 else None, "both questions", timeout=120)
    for name, job in made.items():
        assert f"touch {bench.workspace}/{name}" in found[job.id]

    async def story(app: TopApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: [row[2] for row in cells(app)] == ["needs approval"] * 2)
        app.table.move_cursor(row=list(app.table.rows).index(made["yes"].id))  # type: ignore[arg-type]
        assert app.selected == made["yes"].id
        await pilot.press("y")
        await until(pilot, made["yes"].ended)

    drive(bench, story)
    assert server.post(f"/api/jobs/{made['no'].id}/send", {"text": "no"}).status == 200
    for name, job in made.items():
        assert job.wait(300).ok
        (decided,) = [event for event in job.events() if event.get("decision")]
        assert decided["decision"] == {"yes": "accepted", "no": "denied"}[name]
        assert (bench.workspace / name).exists() == (name == "yes")
    server.end()
