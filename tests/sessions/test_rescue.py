"""The session machine in single stories: each rung, and each thing that holds it back. Virtual time."""

from __future__ import annotations

from tests.support.sessions.world import World, busy, world
from unhang.sessions.state import actions
from unhang.sessions.state import known as modes
from unhang.sessions.state.limits import SessionLimits


def test_copy_mode_and_vims_insert_mode_are_left_first() -> None:
    seen = busy()
    seen.in_mode = seen.insert = True
    seen.tool("WebFetch")
    seen.advance(190)
    assert seen.steps() == [actions.LEAVE_MODE, actions.ESCAPE, actions.ESCAPE]
    assert seen.session.known.mode() == modes.IDLE


def test_a_person_who_types_holds_everything_back() -> None:
    seen = busy()
    seen.human = True
    seen.tool("WebFetch")
    seen.advance(3600)
    assert not seen.taken
    assert seen.phases().count("held") == 1  # said once
    seen.human = False
    seen.advance(31)
    assert seen.steps() == [actions.ESCAPE]


def test_a_draft_that_changes_holds_everything_back() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.advance(179)
    for n in range(60):
        seen.draft = f"a sentence that grows {n}"
        seen.advance(1)
    assert not seen.taken
    seen.advance(5)
    assert seen.steps() == [actions.ESCAPE]


def test_a_pane_that_is_not_certain_holds_everything_back() -> None:
    seen = busy()
    seen.refused = "its pane belongs to another process now"
    seen.tool("WebFetch")
    seen.advance(100_000)
    assert not seen.taken
    assert seen.last("held").fields["reason"] == seen.refused


def test_without_a_pane_it_says_that_a_person_is_needed() -> None:
    seen = busy()
    seen.refused, seen.final = "no tmux pane is known for it", True
    seen.tool("WebFetch")
    seen.advance(200)
    assert seen.last("gave_up").aloud
    assert not seen.taken


def test_escape_without_effect_is_tried_twice_then_a_person_is_called() -> None:
    seen = busy()
    seen.escape_works = False
    seen.tool("WebFetch")
    seen.advance(400)
    assert seen.steps() == [actions.ESCAPE] * 2
    assert seen.phases()[-1] == "gave_up"
    assert [said.fields["ok"] for _, said in seen.said if said.phase == "effect"] == [False, False]


def test_restart_comes_last_and_only_if_allowed() -> None:
    for allowed in (False, True):
        seen = busy(allow_restart=allowed)
        seen.escape_works = False
        seen.tool("WebFetch")
        seen.advance(400)
        assert seen.steps() == [actions.ESCAPE] * 2 + [actions.RESTART] * allowed
    assert seen.session.known.mode() == modes.GONE


def test_clear_comes_after_repeated_hangs_and_only_if_allowed() -> None:
    for allowed in (False, True):
        seen = world(allow_clear=allowed)
        for _ in range(2):
            seen.prompt()
            seen.advance(700)
        assert seen.steps() == [actions.ESCAPE] * 2 + [actions.CLEAR] * allowed


def test_a_draft_that_is_cleared_is_named_in_the_event_and_so_is_where_it_is_saved() -> None:
    seen = world(allow_clear=True)
    seen.draft, seen.saves_in = "half a thought", "/home/user/saved.json"
    for _ in range(2):
        seen.prompt()
        seen.advance(700)
    said = [say.fields for _, say in seen.said if say.fields.get("step") == actions.CLEAR]
    assert [fields.get("draft") for fields in said] == ["half a thought", None]
    assert (said[-1]["ok"], said[-1]["saved"]) == (True, seen.saves_in)


def test_a_turn_that_ends_well_starts_the_count_for_clear_anew() -> None:
    seen = world(allow_clear=True)
    for _ in range(4):
        seen.prompt()
        seen.advance(700)
        seen.prompt()
        seen.stop()
    assert actions.CLEAR not in seen.steps()


def test_the_budget_holds_and_says_so() -> None:
    seen = world(per_session=3, cooldown=1.0)
    for _ in range(6):
        seen.prompt()
        seen.advance(400)
        seen.tool("WebFetch")
        seen.advance(200)
        if seen.main_busy:
            break
    assert len(seen.taken) == 3
    assert "budget" in seen.last("held").message
    assert seen.last("held").aloud
    seen.advance(3600)
    assert len(seen.taken) == 4


def test_one_machine_has_one_budget() -> None:
    first = World(SessionLimits(per_machine=1))
    second = World(SessionLimits(per_machine=1), machine=first.machine_budget)
    for each in (first, second):
        each.prompt()
        each.tool("WebFetch")
    first.advance(200)
    second.advance(200)
    assert first.steps() == [actions.ESCAPE]
    assert not second.taken


def test_a_dry_run_reports_the_step_and_takes_none() -> None:
    seen = busy(dry_run=True)
    seen.tool("WebFetch")
    seen.advance(10_000)
    assert not seen.taken
    assert "Escape" in next(s for _, s in seen.said if s.phase == "held").message
