"""Every real scenario, replayed to the session machine with the limits that people have: what it does, and when."""

from __future__ import annotations

import re

import pytest

from tests.support.claude_sessions import recorder
from tests.support.claude_sessions.record import PLAYS
from tests.support.claude_sessions.replay import Replay
from unhang.sessions.state.actions import END_TREE, ESCAPE, LEAVE_MODE
from unhang.sessions.state.limits import SessionLimits

# Which steps, and when the first of them comes: seconds after the call (or the last sign of life).
DECISIONS: dict[str, tuple[list[str], float]] = {
    "bash": ([END_TREE], 180),
    "web-fetch": ([ESCAPE], 180),
    "web-search": ([ESCAPE], 600),
    "mcp": ([ESCAPE], 1800),
    "parallel": ([END_TREE, ESCAPE], 180),
    "hook": ([ESCAPE], 180),
    "api-first-byte": ([ESCAPE], 600),
    "api-mid-stream": ([ESCAPE], 600),
    "api-pings": ([ESCAPE], 600),
    "restored-prompt": ([ESCAPE], 600),
    "draft": ([ESCAPE], 600),
    "vim": ([ESCAPE, ESCAPE], 600),
    "copy-mode": ([LEAVE_MODE, ESCAPE], 600),
    "background-agents": ([END_TREE], 180),
}
# These go on as they ended, for ten hours.
LEFT_ALONE = ("idle", "permission")
WORKING = ("talking-bash", "long-answer", "refused-call")
# An hour of mixed real work of one of four sessions, at the default limits (scripts/sessions_hour.py).
HOUR = "hour"
# From the last fact of a hang to its limit the recording takes a moment; two looks at a draft or a tree take two more.
SLACK = 5.0


def test_every_recording_is_replayed_and_every_scenario_is_recorded() -> None:
    assert set(recorder.names()) == {*PLAYS, HOUR} == {*DECISIONS, *LEFT_ALONE, *WORKING, HOUR}


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_hang_is_ended_at_its_limit_by_the_gentlest_step(name: str) -> None:
    steps, limit = DECISIONS[name]
    replay = Replay(name)
    assert [step for _, step in replay.steps] == steps
    assert replay.refused == []
    assert limit <= replay.steps[0][0] <= limit + SLACK
    warned, _ = replay.first("warning")
    assert warned == pytest.approx(limit * 0.8, abs=SLACK)
    assert replay.phases.count("recovered") == len([step for step in steps if step == END_TREE]) + (ESCAPE in steps)
    assert replay.machine.known.mode() == "idle"


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_no_hang_is_left_alone_for_hours(name: str) -> None:
    replay = Replay(name)
    assert replay.steps == []
    assert replay.refused == []
    assert "gave_up" not in replay.phases


@pytest.mark.parametrize("name", WORKING)
def test_what_works_is_left_alone_past_its_limit(name: str) -> None:
    """A command that prints, an answer that comes word by word: only the limit of the whole turn ends it."""
    replay = Replay(name, hours=0.49)
    assert replay.steps == replay.refused == []
    assert "extended" in replay.phases
    assert replay.now > 1300


def test_in_an_hour_of_mixed_work_nothing_is_touched_and_no_alarm_is_given() -> None:
    """Commands that talk, compute or are quiet, thoughts and answers of twelve minutes, a dialog, a draft, an agent."""
    replay = Replay(HOUR, hours=1)
    assert replay.steps == replay.refused == []
    assert {"warning", "hung", "held", "gave_up"}.isdisjoint(replay.phases)
    assert "extended" in replay.phases


def test_a_prompt_that_never_reached_the_model_is_offered_again() -> None:
    replay = Replay("restored-prompt")
    _, say = replay.first("restored")
    assert say.fields["prompt"] == "fake: hang"


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_with_every_limit_off_nothing_is_done(name: str) -> None:
    off = SessionLimits(turn=None, api=None, tools=(("*", None),))
    replay = Replay(name, off)
    assert replay.steps == replay.refused == []


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_dry_run_says_what_it_would_do_and_does_nothing(name: str) -> None:
    replay = Replay(name, SessionLimits(dry_run=True), hours=1)
    assert replay.steps == replay.refused == []
    assert "held" in replay.phases


@pytest.mark.parametrize("name", sorted(recorder.names()))
def test_a_recording_holds_nothing_of_the_machine_it_was_made_on(name: str) -> None:
    text = (recorder.FOLDER / f"{name}.ndjson").read_text(encoding="utf-8")
    assert re.findall(r"(?<!/test)/(?:tmp|root|home|usr|var|opt|work|srv|mnt|private)/", text) == []
    assert "pidDomain" not in text
    uuids = set(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", text))
    assert all(uuid.startswith("00000000-0000-4000-8000-") for uuid in uuids)
