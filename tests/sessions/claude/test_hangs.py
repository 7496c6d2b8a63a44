"""End to end: the real Claude Code in a real tmux hangs, the real watcher ends it, what was queued is answered.

Where something is typed into a session that hangs, the watcher comes only then: on a busy machine typing takes longer
than the limit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.claude_sessions import scenarios
from tests.support.claude_sessions.harness import HOOKS, LIMIT, PATIENCE, Desk, Session, Watcher
from tests.support.claude_sessions.scenarios import Scenario
from tests.support.engine import wait_until
from tests.support.places import ROOT
from unhang.procs.clock import parse

# The gentlest step that works, each.
STEPS = {scenario.name: ["escape"] for scenario in scenarios.HANGING} | {
    "bash": ["end_tree"],
    "parallel": ["end_tree", "escape"],
}
PLUGIN = ROOT / "plugins" / "unhang"
# How much later than its limit a hang may be noticed on a machine that is busy with other tests.
LATE = 20.0


def noticed_at_its_limit(session: Session, watcher: Watcher) -> None:
    hung, found = watcher.said("hung")[0], watcher.said()[0]
    assert hung["ageMs"] >= LIMIT * 1000
    assert parse(hung["ts"]) - parse(found["ts"]) <= LIMIT + LATE
    recorded = [event["phase"] for event in session.events("watch")]
    assert recorded.index("warning") < recorded.index("hung") < recorded.index("step") < recorded.index("recovered")


@pytest.mark.parametrize("scenario", scenarios.HANGING, ids=lambda scenario: scenario.name)
def test_a_hang_is_ended_and_the_queued_messages_are_answered(scenario: Scenario, desk: Desk) -> None:
    desk.configure(**scenario.setup)
    session = desk.claude()
    if STEPS[scenario.name][0] == "end_tree":
        session.warm_up()
    prompt = scenario.prompt(desk)
    session.ask(prompt)
    scenario.ready(session)
    session.queue("fake: say answer-one", "fake: say answer-two")
    watcher = desk.watch()
    watcher.wait("recovered")
    seen = desk.fake.wait_for_text("answer-two")
    assert "fake: say answer-one" in str(seen.body["messages"]), "both were sent"
    assert prompt[:12] in str(seen.body["messages"]), "what was asked before is still known"
    session.wait_screen("● answer-two")
    session.wait_status("idle")
    noticed_at_its_limit(session, watcher)
    assert watcher.steps() == STEPS[scenario.name], watcher.story()
    assert session.box() == ""
    assert session.process().is_alive()


def test_a_prompt_that_never_reached_the_model_is_back_in_the_box(desk: Desk) -> None:
    session = desk.claude()
    watcher = desk.watch()
    session.ask("fake: hang")
    restored = watcher.wait("restored")
    assert restored["prompt"] == "fake: hang"
    assert session.box() == "fake: hang"
    assert (session.status() or {})["status"] == "idle"
    assert watcher.steps() == ["escape"]


def test_a_draft_in_the_box_survives(desk: Desk) -> None:
    session = desk.claude()
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.draft("half a thought")
    session.wait_screen("half a thought")
    watcher = desk.watch()
    watcher.wait("recovered")
    session.wait_status("idle")
    assert session.box() == "half a thought"
    assert watcher.steps() == ["escape"]
    session.keys("Enter")
    desk.fake.wait_for_text("half a thought")
    session.wait_screen("● pong")


def test_in_vim_mode_two_escapes_are_needed_and_two_are_given(desk: Desk) -> None:
    desk.configure(vim=True)
    session = desk.claude()
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    session.draft("half a thought")
    session.wait_screen("half a thought", "-- INSERT --")
    watcher = desk.watch()
    watcher.wait("recovered")
    session.wait_status("idle")
    assert watcher.steps() == ["escape", "escape"]
    assert session.box() == "half a thought"


def test_copy_mode_is_left_first(desk: Desk) -> None:
    session = desk.claude()
    session.ask("fake: hang-mid")
    scenarios.API_MID.ready(session)
    desk.tmux("copy-mode", "-t", session.pane)
    assert session.shown("#{pane_in_mode}") == "1"
    watcher = desk.watch()
    watcher.wait("recovered")
    session.wait_status("idle")
    assert watcher.steps() == ["leave_copy_mode", "escape"]
    assert session.shown("#{pane_in_mode}") == "0"


def test_a_command_of_a_subagent_is_ended_and_nothing_else(desk: Desk) -> None:
    """Escape would not reach it, and the prompt is free: nothing is typed."""
    session = desk.claude()
    session.warm_up()
    watcher = desk.watch()
    session.ask(scenarios.subagent(f"fake: bash {scenarios.HANGS}"))
    watcher.wait("recovered")
    session.wait_hook("SubagentStop")
    session.wait_status("idle")
    assert watcher.steps() == ["end_tree"], watcher.story()


@pytest.mark.parametrize("by", ["settings", "plugin"])
def test_the_first_hook_of_a_session_starts_the_watcher(by: str, desk: Desk) -> None:
    """As people have it: only the hooks are set up, in the settings or by the plugin; the limits are in a file."""
    folder = desk.user / ".config" / "unhang"
    folder.mkdir(parents=True)
    desk.env["UNHANG_WATCH"] = "on"
    desk.env["PATH"] = f"{Path(sys.executable).parent}:{desk.env['PATH']}"
    desk.configure(ours=HOOKS if by == "settings" else ())
    session = desk.claude(*(("--plugin-dir", str(PLUGIN)) if by == "plugin" else ()))
    session.wait_event("watch", phase="found")
    session.ask(scenarios.WEB_SEARCH.prompt(desk))
    session.queue("fake: say answer-one")
    (folder / "watch.toml").write_text(f'api = {LIMIT}\ncooldown = 1\n[limits]\n"*" = {LIMIT}\n')
    assert desk.unhang("watch", "reload").code == 0
    session.wait_event("watch", phase="recovered")
    session.wait_screen("● answer-one")
    desk.end_watcher()


@pytest.mark.parametrize("hook", ["UserPromptSubmit", "Stop"])
def test_another_hook_that_hangs_is_ended_with_its_turn(hook: str, desk: Desk) -> None:
    """Ours has told of the prompt, or of the end of the turn; Claude waits for the other one."""
    desk.configure(hooks={hook: [f"grep -q 'it hangs' && exec {scenarios.HANGS}"]})
    session = desk.claude()
    watcher = desk.watch()
    session.ask("fake: say it hangs")
    session.wait_hook(hook)
    watcher.wait("recovered")
    session.wait_status("idle")
    assert watcher.steps() == ["escape"]
    if hook == "UserPromptSubmit":  # the model never had it: it comes back, a little later than the status
        watcher.wait("restored")
        session.keys("C-u")
    wait_until(lambda: session.box() == "", "the box is empty", PATIENCE)
    session.ask("fake: say going on")
    session.wait_screen("● going on")
    session.wait_status("idle")
