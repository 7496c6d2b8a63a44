"""Without any hook, and where neither screen nor transcript moves: what works is left alone, what hangs is ended."""

from __future__ import annotations

from tests.sessions.claude.test_left_alone import helped, untouched
from tests.support.claude_sessions.harness import Desk


def test_a_model_that_thinks_for_longer_than_the_limit_is_left_alone(desk: Desk) -> None:
    """Neither the screen nor the transcript shows it: only the bytes on its connection."""
    session, control = desk.claude(), desk.claude()
    watcher = desk.watch("--api", "5", "--warn", "2.5")
    session.ask("fake: think 1000 0.1")
    desk.fake.wait_for(lambda seen: seen.verb == "think", "it thinks")
    for _ in range(3):
        helped(control, watcher)
    assert [e for e in watcher.said("extended") if e["sessionId"] == session.session_id], watcher.story()
    untouched(session, watcher)
    assert (session.status() or {})["status"] == "busy"
