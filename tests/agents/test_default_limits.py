"""Hung agents under the limits that a user gets who gives none. A minute of waiting, for all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.acp_agents.harness import Bench as AcpBench
from tests.support.codex.harness import Bench as CodexBench
from tests.support.engine import wait_until
from tests.support.fakes.acp_models import FakeModels
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.jobs import Jobs
from unhang.jobs.handle import Job

# Generous: the stall time itself is a minute, and a loaded machine is slow to start an agent.
_SECONDS = 200


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[dict[str, tuple[Jobs, Job]]]:
    """Codex, and an agent whose own files and sockets move: each asks a model that never answers."""
    with FakeOpenAI() as responses, FakeModels() as models:
        (tmp_path / "codex").mkdir()
        (tmp_path / "acp").mkdir()
        codex = CodexBench(tmp_path / "codex", responses, programs.path_of(programs.CODEX))
        acp = AcpBench(tmp_path / "acp", models)
        acp.equip("qwen")
        try:
            yield {
                "codex": (codex, codex.begun("[[hang]]", "--on-hung", "end")),
                "qwen": (acp, acp.begun("qwen", "[[hang]]", "--startup", "150")),
            }
        finally:
            for bench in (codex, acp):
                bench.close()
                bench.end_everything()
            assert codex.left_over() == acp.left_over() == []


def test_a_silent_model_is_called_stuck_once_by_the_driver_and_nothing_else(hung: dict[str, tuple[Jobs, Job]]) -> None:
    for jobs, job in hung.values():
        wait_until(lambda job=job: job.view().phase == "stuck", "it is called stuck", timeout=_SECONDS)
        view = job.view()
        assert view.diagnosis is not None
        assert (view.diagnosis["state"], view.diagnosis["cause"]) == ("hung", "network")
        last = next(event for event in reversed(job.events()) if event["type"] == "agent" and event["alive"])
        assert view.last_activity_at is not None
        assert view.last_activity_at >= last["ts"]
        stuck = [event for event in job.events() if event["phase"] in ("stuck", "quiet") and event["ts"] > last["ts"]]
        assert [(event["type"], event["phase"]) for event in stuck] == [("agent", "stuck")]
        assert view.last_activity_at < stuck[0]["ts"]
        found = jobs.said("diagnose", job.id)
        assert (found["state"], found["cause"]) == ("hung", "network"), found
    codex = hung["codex"][1]
    result = codex.wait(_SECONDS)  # --on-hung end: warned at once, and ended long before the idle limit
    assert (result.status, result.timeout_reason) == ("timeout", "no_output_timeout")
    assert next(event for event in codex.events() if event["phase"] == "warning")["willAbortInMs"] <= 30_000
    assert "nothing from the model" in str((result.diagnosis or {})["reason"])
    qwen = hung["qwen"][1]
    assert [event["phase"] for event in qwen.events()].count("quiet") == 0
    assert qwen.view().phase == "stuck"
