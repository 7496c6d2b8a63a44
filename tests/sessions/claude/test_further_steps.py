"""The steps that are only taken where a person has allowed them: a fresh context, a restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.claude_sessions import scenarios
from tests.support.claude_sessions.harness import PATIENCE, Desk, Session
from tests.support.engine import wait_until
from unhang.store.session_log import SessionLog


def saved(desk: Desk, session_id: str) -> list[dict[str, str]]:
    folder = Path(SessionLog(session_id, str(desk.home)).folder)
    return [json.loads(path.read_text()) for path in sorted(folder.glob("saved-*.json"))]


def answers_anew(session: Session) -> None:
    session.ask("fake: say a fresh start")
    session.wait_screen("● a fresh start")
    session.wait_status("idle")


def test_where_it_is_allowed_the_context_is_cleared_after_a_hang_and_nothing_is_lost(desk: Desk) -> None:
    session = desk.claude()
    watcher = desk.watch("--allow-clear", "--clear-after", "1")
    before = session.session_id
    session.ask("fake: hang")  # its prompt comes back into the box, and would stand before /clear
    wait_until(lambda: session.session_id != before, f"a new session:\n{watcher.story()}", PATIENCE)
    session.wait_status("idle")
    watcher.wait("effect", count=2)  # of both steps: it sees a new session later than we do
    assert watcher.steps() == ["escape", "clear"]
    (state,) = saved(desk, before)
    assert state["draft"] == "fake: hang"
    assert state["sessionId"] == before
    step, effect = [event for phase in ("step", "effect") for event in watcher.said(phase) if event["step"] == "clear"]
    assert step["draft"] == "fake: hang"
    assert json.loads(Path(effect["saved"]).read_text()) == state
    answers_anew(session)
    request = desk.fake.wait_for_text("a fresh start")
    assert "fake: hang" not in json.dumps(request.body["messages"])


def test_a_session_that_hangs_again_and_again_is_helped_and_without_being_allowed_never_cleared(desk: Desk) -> None:
    session = desk.claude()
    watcher = desk.watch()
    before = session.session_id
    for number in range(1, 4):
        session.ask(scenarios.WEB_FETCH.prompt(desk))
        watcher.wait("recovered", count=number)
        session.wait_status("idle")
    assert session.session_id == before
    assert watcher.steps() == ["escape"] * 3
    answers_anew(session)


@pytest.mark.parametrize("shell", [False, True], ids=["pane-is-claude", "from-a-shell"])
def test_where_escape_is_no_help_and_it_is_allowed_the_session_is_resumed_in_its_pane(shell: bool, desk: Desk) -> None:
    """No Escape is tried (`escapes = 0`): the real program always obeys it."""
    settings = desk.folder / "watch.toml"
    settings.write_text("escapes = 0\n")
    session = desk.claude(shell=shell)
    session.ask("fake: say before")
    session.wait_screen("● before")
    session.wait_status("idle")
    watcher = desk.watch("--allow-restart", "--config", str(settings))
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    name, old = session.session_id, session.process()
    watcher.wait("step")
    assert old.wait_gone()
    old.close()
    session.forget()
    session.wait_status("idle")
    assert watcher.steps() == ["restart"]
    assert session.session_id == name
    assert saved(desk, name)
    answers_anew(session)
    request = desk.fake.wait_for_text("a fresh start")
    assert "fake: say before" in json.dumps(request.body["messages"])
    left = list(Path(SessionLog(name, str(desk.home)).folder).glob("resume*"))
    assert left == [], "what it was started with does not stay on the disk"
