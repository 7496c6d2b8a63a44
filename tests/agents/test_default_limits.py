"""The defaults: no option is given, and the real stall time is waited out once, with three real agents at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import programs
from tests.support.acp_agents.harness import Bench as AcpBench
from tests.support.claude.harness import Bench as ClaudeBench
from tests.support.codex.harness import Bench as CodexBench
from tests.support.fakes.acp_models import FakeModels
from tests.support.fakes.anthropic_messages import FakeAnthropic
from tests.support.fakes.openai_responses import FakeOpenAI
from tests.support.jobs import Jobs
from unhang.jobs.handle import Job
from unhang.procs import clock


def is_hung(event: dict[str, Any]) -> bool:
    """A slow start is a stall, too, and no hang."""
    return event["phase"] == "stuck" and (event.get("diagnosis") or {}).get("state") == "hung"


@contextmanager
def ended(bench: Jobs) -> Iterator[None]:
    try:
        yield
    finally:
        bench.leave_nothing()


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[dict[str, tuple[Jobs, Job]]]:
    """Each of them, at a task whose model never answers."""
    programs.need(programs.CLAUDE)
    for name in ("codex", "claude", "gemini"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        openai = stack.enter_context(FakeOpenAI())
        anthropic, models = stack.enter_context(FakeAnthropic()), stack.enter_context(FakeModels())
        codex = CodexBench(tmp_path / "codex", openai, programs.path_of(programs.CODEX))
        claude, gemini = ClaudeBench(tmp_path / "claude", anthropic), AcpBench(tmp_path / "gemini", models)
        gemini.equip("gemini")
        for bench in (codex, claude, gemini):
            stack.enter_context(ended(bench))
        yield {
            "Codex": (codex, codex.begun("[[hang]]")),
            "Claude": (claude, claude.begun("fake: hang")),
            "Gemini CLI": (gemini, gemini.begun("gemini", "[[hang]]")),
        }


@pytest.mark.timeout(240)
def test_a_silent_model_is_called_stuck_once_by_its_driver_and_looks_so_everywhere(
    hung: dict[str, tuple[Jobs, Job]],
) -> None:
    """Codex writes its own files meanwhile, Claude and Gemini listen: that is no work, and no reason."""
    for name, (bench, job) in hung.items():
        stuck = next(event for event in job.watch() if is_hung(event) or event["phase"] == "quiet")
        assert (stuck["type"], stuck["phase"], stuck["alive"]) == ("agent", "stuck", False), name
        reason = stuck["diagnosis"]["reason"]
        assert reason.startswith(f"{name} has had nothing from ")
        found = bench.said("diagnose", job.id)
        assert (found["state"], found["cause"]) == ("hung", "network")
        assert found["reason"].startswith(f"{name} has had nothing from ")
        view = job.view()
        assert (view.phase, view.diagnosis) == ("stuck", stuck["diagnosis"])
        assert view.last_activity_at is not None
        assert clock.parse(stuck["ts"]) - clock.parse(view.last_activity_at) > 55
        silence, _, _ = reason.rpartition(" ")  # how long it lasts is said as of each reading
        for words in (("ps",), ("needs",), ("status", job.id)):
            assert silence in " ".join(bench.call(*words).out.decode().split()), words
        job.cancel()
        noticed = [event["type"] for event in job.events() if is_hung(event) or event["phase"] == "quiet"]
        assert noticed == ["agent"], name
