"""The stage itself: a session that answers, and its stream."""

from __future__ import annotations

from tests.support.claude_sessions.harness import Desk


def test_a_healthy_turn_is_recorded_from_its_prompt_to_its_end(desk: Desk) -> None:
    session = desk.claude()
    session.ask("fake: bash echo hello")
    session.wait_screen("pong after tool: hello")
    session.wait_status("idle")
    stop = session.wait_hook("Stop")
    methods = [event["method"] for event in session.events("hook")]
    assert methods == ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"]
    assert (stop["pid"], stop["pane"], stop["configDir"]) == (session.pid, session.pane, str(desk.config))
    assert stop["tmux"].startswith(f"{desk.socket},")
    assert stop["procStart"] == (session.status() or {})["procStart"]
    assert stop["attended"] is True
