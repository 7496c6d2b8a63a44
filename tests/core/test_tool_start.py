"""When a tool of an agent began, told what the agent has said."""

from __future__ import annotations

import pytest

from unhang.core.tool_start import BEFORE_WORD, AgentStart, tool_began


@pytest.mark.parametrize(
    ("said", "ready", "began"),
    [(10.0, 0.0, 10.0 - BEFORE_WORD), (10.0, 9.5, 9.5), (10.0, 10.0 - BEFORE_WORD, 10.0 - BEFORE_WORD)],
)
def test_a_tool_began_a_little_before_it_was_told_and_not_before_the_agent_was_ready(
    said: float, ready: float, began: float
) -> None:
    assert tool_began(said, ready) == began


@pytest.mark.parametrize(
    ("phases", "ready"),
    [
        ([], 0.0),
        (["starting"], 1.0),
        (["starting", "warning", None, "starting"], 4.0),
        (["starting", "thinking", "starting"], 1.0),
        (["thinking", "starting"], 0.0),
    ],
)
def test_an_agent_is_ready_when_it_last_said_that_it_starts_before_anything_else(
    phases: list[str | None], ready: float
) -> None:
    start = AgentStart()
    for at, phase in enumerate(phases, 1):
        start.note(phase, float(at))
    assert start.ready_at == ready
