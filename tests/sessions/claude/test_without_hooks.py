"""Without any hook, and where neither screen nor transcript moves: what works is left alone, what hangs is ended."""

from __future__ import annotations

from tests.sessions.claude.test_left_alone import helped, untouched
from tests.support.claude_sessions.harness import Desk


def test_commands_that_talk_or_compute_are_left_alone_without_hooks(desk: Desk) -> None:
    """The transcript has their calls; its processes show that they work. The control's WebFetch hangs, and is ended."""
    desk.configure(ours=())
    talks, computes, control = (desk.claude() for _ in range(3))
    for session in (talks, computes):
        session.warm_up()
    watcher = desk.watch("--warn", "1.5")
    talks.ask("fake: bash while :; do echo tick; sleep 0.1; done")
    computes.ask("fake: bash timeout 60 sh -c 'while :; do :; done'")
    helped(control, watcher)
    helped(control, watcher)
    for session in (talks, computes):
        untouched(session, watcher)
        assert (session.status() or {})["status"] == "busy"
    assert [e for e in watcher.said("extended") if e["sessionId"] == talks.session_id], watcher.story()
    steps = [event for event in watcher.said("step") if event["sessionId"] == control.session_id]
    assert [event["toolName"] for event in steps] == ["WebFetch"] * 2


def test_a_model_that_thinks_for_longer_than_the_limit_is_left_alone(desk: Desk) -> None:
    """Neither the screen nor the transcript shows it: only the bytes on its connection."""
    session, control = desk.claude(), desk.claude()
    session.ask("fake: think 1000 0.1")
    desk.fake.wait_for(lambda seen: seen.verb == "think", "it thinks")
    watcher = desk.watch("--api", "6", "--warn", "3")
    for _ in range(3):
        helped(control, watcher)
    assert [e for e in watcher.said("extended") if e["sessionId"] == session.session_id], watcher.story()
    untouched(session, watcher)
    assert (session.status() or {})["status"] == "busy"
