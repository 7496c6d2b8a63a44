"""After a step of the watcher, the real Claude Code's next request says what happened and what to do instead."""

from __future__ import annotations

import json
from typing import Any

from tests.support.claude_sessions import scenarios
from tests.support.claude_sessions.harness import Desk


def sent(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


def test_after_its_command_was_ended_the_model_reads_who_did_it_and_why(desk: Desk) -> None:
    """The old failure, in the same request: without the note it reads an exit code only."""
    session = desk.claude()
    session.warm_up()
    watcher = desk.watch()
    session.ask(f"fake: bash {scenarios.HANGS}")
    watcher.wait("recovered")
    session.wait_status("idle")
    last = sent(desk.fake.requests[-1].body)
    assert "Exit code" in last
    assert "unhang, a watchdog on this machine, and not the user" in last
    assert "Do not repeat it unchanged" in last
    assert watcher.said("warning")[0]["title"] == f"Bash {scenarios.HANGS}"


def test_after_escape_the_next_prompt_brings_the_note_and_only_once(desk: Desk) -> None:
    session = desk.claude()
    session.ask(scenarios.WEB_FETCH.prompt(desk))
    session.wait_connected(desk.fake.silent_port)  # on a busy machine that takes longer than the limit
    watcher = desk.watch()
    warning = watcher.wait("warning")
    assert f"127.0.0.1:{desk.fake.silent_port}" in warning["reason"]
    watcher.wait("recovered")
    session.wait_status("idle")
    session.ask("fake: say first")
    session.wait_screen("● first")
    session.wait_status("idle")
    told = "unhang, a watchdog on this machine"
    assert sent(desk.fake.wait_for_text("say first").body).count(told) == 1
    session.ask("fake: say second")
    session.wait_screen("● second")
    assert sent(desk.fake.wait_for_text("say second").body).count(told) == 1, "of the earlier prompt"


def test_an_unattended_session_goes_on_by_itself_where_that_is_allowed(desk: Desk) -> None:
    session = desk.claude()
    watcher = desk.watch("--continue", "--hands-off", "0.5")
    session.ask(scenarios.WEB_FETCH.prompt(desk))
    seen = desk.fake.wait_for_text("Continue with the task.")
    assert "unhang, a watchdog on this machine" in seen.text
    assert sent(seen.body).count("unhang, a watchdog on this machine") == 1
    session.wait_status("idle")
    assert watcher.steps() == ["escape", "continue"]
