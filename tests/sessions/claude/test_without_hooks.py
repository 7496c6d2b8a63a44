"""Without any hook the transcript tells which calls are open: what works is left alone, what hangs is ended."""

from __future__ import annotations

from tests.sessions.claude.test_left_alone import helped, untouched
from tests.support.claude_sessions.harness import Desk


def test_commands_that_work_are_left_alone_and_a_call_of_a_first_prompt_that_hangs_is_ended(desk: Desk) -> None:
    """The watcher is there before the prompt, and so before the transcript."""
    desk.configure(ours=())
    talks, computes, control = (desk.claude() for _ in range(3))
    for session in (talks, computes):
        session.warm_up()
    watcher = desk.watch("--api", "60", "--warn", "1.5", "--config-dir", str(desk.config))
    talks.ask("fake: bash while :; do echo tick; sleep 0.1; done")
    computes.ask("fake: bash timeout 120 sh -c 'while :; do :; done'")
    for session in (talks, computes):
        session.wait_status("busy")
    helped(control, watcher)
    for session in (talks, computes):
        untouched(session, watcher)
        assert (session.status() or {})["status"] == "busy"
    steps = [event for event in watcher.said("step") if event["sessionId"] == control.session_id]
    assert [event["toolName"] for event in steps] == ["WebFetch"]
    computes.keys("Escape")  # its command would outlive it
    computes.wait_status("idle")
