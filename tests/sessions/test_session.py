"""The session machine in single stories: each limit, and who is left alone. Virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions.world import World, busy
from unhang.sessions.state import actions, facts
from unhang.sessions.state import known as modes
from unhang.sessions.state.limits import SessionLimits


@pytest.mark.parametrize(
    ("tool", "given", "limit"),
    [
        ("WebFetch", {}, 180),
        ("WebSearch", {}, 600),
        ("mcp__slow__hang", {}, 1800),
        ("Bash", {}, 180),
        ("Bash", {"timeout": 300_000}, 360),
        ("Edit", {}, 1800),  # the turn's own
    ],
)
def test_each_tool_has_its_limit(tool: str, given: dict[str, Any], limit: float) -> None:
    seen = busy()
    seen.tool(tool, **given)
    seen.advance(limit * 0.8 - 1)
    assert seen.phases() == ["idle", "busy"]
    seen.advance(2)
    assert seen.phases()[-1] == "warning"
    assert seen.last("warning").aloud
    seen.advance(limit * 0.2 - 2)
    assert not seen.taken
    seen.advance(3)
    assert seen.steps() == [actions.END_TREE if tool == "Bash" else actions.ESCAPE]
    assert seen.phases()[-2:] == ["effect", "recovered"] or seen.phases()[-1] == "idle"


def test_a_pattern_of_the_user_comes_first() -> None:
    limits = SessionLimits(tools=(("mcp__slow__*", 5.0), ("WebFetch", None)))
    assert limits.of_tool("mcp__slow__hang", {}) == 5
    assert limits.of_tool("mcp__fast__x", {}) == 1800
    assert limits.of_tool("WebFetch", {}) is None


def test_a_silent_api_is_interrupted_and_the_prompt_is_offered_again() -> None:
    seen = busy()
    seen.advance(599)
    assert not seen.taken
    seen.draft = ""
    seen.advance(1)
    assert seen.steps() == [actions.ESCAPE]
    seen.draft = "what I had asked"  # Claude gives it back
    seen.advance(5)
    assert seen.last("restored").fields["prompt"] == "what I had asked"
    assert seen.steps() == [actions.ESCAPE]


def test_a_draft_that_was_there_before_is_not_called_restored() -> None:
    seen = busy()
    seen.draft = "half a sentence"
    seen.advance(700)
    assert seen.steps() == [actions.ESCAPE]
    assert "restored" not in seen.phases()


def test_signs_of_life_move_the_silence_and_queued_messages_do_not() -> None:
    seen = busy()
    for _ in range(4):
        seen.advance(300)
        seen.tell(facts.Grew(seen.now))
    assert "warning" not in seen.phases()
    for _ in range(3):
        seen.advance(190)
        seen.prompt()
    assert seen.phases()[-1] == "warning"
    seen.advance(40)
    assert seen.steps() == [actions.ESCAPE]
    assert seen.session.known.mode() == modes.BUSY  # what was queued runs


def test_a_turn_that_makes_steps_goes_on_and_one_that_does_not_is_ended() -> None:
    seen = busy()
    for _ in range(20):
        call = seen.tool("Edit")
        seen.advance(240)
        seen.tool_ends(call)
    assert not seen.taken
    assert "extended" in seen.phases()
    seen.tool("Edit")
    seen.advance(1801)
    assert seen.steps() == [actions.ESCAPE]


def test_the_total_limit_ends_a_turn_that_makes_steps() -> None:
    seen = busy(total=100.0)
    for _ in range(11):
        seen.tool_ends(seen.tool("Edit"))
        seen.advance(10)
    assert seen.steps() == [actions.ESCAPE]


# --- the ladder -----------------------------------------------------------------------------------------------


def test_a_command_that_does_not_heed_term_is_killed_and_then_escaped() -> None:
    seen = busy()
    seen.tree_dies_of = "never"
    seen.tool("Bash")
    seen.advance(300)
    assert seen.steps() == [actions.END_TREE, actions.KILL_TREE, actions.ESCAPE]


def test_a_command_that_works_is_left_alone_up_to_the_turn() -> None:
    seen = busy()
    seen.tree = (3, True)
    seen.tool("Bash")
    seen.advance(1795)
    assert not seen.taken
    assert seen.phases().count("extended") == 1, "one quiet note"
    assert "warning" not in [said.phase for _, said in seen.said if said.fields.get("limit") == "tool"]
    seen.advance(10)
    assert seen.steps() == [actions.END_TREE]


def test_processes_that_are_not_certain_are_not_touched() -> None:
    seen = busy()
    seen.tree = (0, False)
    seen.tool("Bash")
    seen.advance(181)
    assert seen.steps() == [actions.ESCAPE]


def test_a_command_of_a_subagent_is_ended_without_touching_the_pane() -> None:
    seen = busy()
    seen.agent_starts()
    seen.stop()
    assert seen.session.known.mode() == modes.BACKGROUND
    seen.tool("Bash", agent=seen.agents[0])
    seen.tool("WebFetch", agent=seen.agents[0])
    seen.advance(10_000)
    assert seen.steps() == [actions.END_TREE]
    assert "subagent" in seen.last("gave_up").message  # its WebFetch: a person is told


def test_a_turn_that_hangs_is_not_kept_alive_by_agents_in_the_background() -> None:
    seen = busy()
    seen.agent_starts()
    seen.tool("Edit")
    for _ in range(20):
        seen.advance(95)
        seen.tool_ends(seen.tool("Read", agent=seen.agents[0]))
    assert seen.steps() == [actions.ESCAPE]


def test_agents_in_the_background_are_never_escaped_even_if_no_hook_tells_of_the_end_of_the_turn() -> None:
    seen = busy()
    seen.agent_starts()
    seen.interrupted()  # by a person; the agents go on, the status stays busy
    seen.advance(10_000)
    assert not seen.taken
    assert seen.session.known.mode() == modes.BACKGROUND


def test_where_agents_run_and_the_screen_does_not_say_busy_nothing_is_sent() -> None:
    seen = busy()
    seen.agent_starts()
    seen.interrupted()
    seen.shows_background = False
    seen.advance(10_000)
    assert not seen.taken
    assert "not certain" in seen.last("held").message


def test_nothing_is_done_while_a_dialog_is_open_and_its_time_does_not_count() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.advance(100)
    seen.dialog_opens()
    seen.advance(100_000)
    assert not seen.taken
    assert "warning" not in seen.phases()
    seen.dialog_closes()
    seen.advance(179)
    assert not seen.taken
    seen.advance(2)
    assert seen.steps() == [actions.ESCAPE]


def test_an_idle_session_is_left_alone_for_ever() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.interrupted()
    seen.wake()
    seen.advance(1_000_000)
    assert seen.phases() == ["idle", "busy", "idle"]


def test_a_warning_that_came_late_is_still_a_warning() -> None:
    """The watcher did not run, or came only now: the lead is given all the same."""
    seen = busy()
    seen.tool("WebFetch")
    seen.now += 100_000
    seen.wake()
    assert seen.phases()[-1] == "warning"
    assert not seen.taken
    seen.advance(35)
    assert not seen.taken
    seen.advance(2)
    assert seen.steps() == [actions.ESCAPE]


def test_a_call_that_may_have_been_interrupted_unseen_is_not_ended_by_its_own_limit() -> None:
    """Escape, and what was queued runs at once: the status was idle for a moment only, and no hook tells of it."""
    seen = busy()
    seen.tool("WebFetch")
    seen.queue = 1
    seen.interrupted()
    seen.advance(500)
    assert not seen.taken
    seen.advance(101)
    assert seen.steps() == [actions.ESCAPE]  # the API has been silent for ten minutes


def test_without_a_status_file_the_screen_must_say_that_it_is_busy() -> None:
    seen = World(SessionLimits(), status=False)
    seen.prompt()
    seen.tool("WebFetch")
    seen.draft = "x"  # hides "esc to interrupt"
    seen.advance(400)
    assert not seen.taken
    seen.draft = ""
    seen.advance(60)
    assert seen.steps() == [actions.ESCAPE]


def test_a_session_of_unknown_status_is_left_alone() -> None:
    seen = busy()
    seen.tell(facts.Status("dreaming", 99, seen.now))
    seen.advance(100_000)
    assert seen.session.known.mode() == modes.UNKNOWN
    assert not seen.taken


def test_a_new_session_in_the_same_process_starts_from_nothing() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.tell(facts.Renamed())
    seen.tell(facts.Status("idle", 77, seen.now))
    seen.advance(100_000)
    assert not seen.taken
    assert not seen.session.view(seen.now)["calls"]


def test_of_parallel_calls_a_late_watcher_looks_at_the_command_before_it_ends_another() -> None:
    seen = busy(tools=(("*", 3.0),))
    seen.tool("WebFetch")
    seen.tool("Bash")
    seen.now += 10
    seen.advance(60)
    assert seen.steps() == [actions.END_TREE, actions.ESCAPE]


def test_of_parallel_calls_the_command_is_ended_by_itself_first() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.advance(1)
    seen.tool("Bash")
    seen.advance(190)
    assert seen.steps() == [actions.END_TREE, actions.ESCAPE]


def test_a_call_does_not_wait_for_a_command_that_has_its_time() -> None:
    seen = busy()
    seen.tool("WebFetch")
    seen.tool("Bash", timeout=600_000)
    seen.advance(190)
    assert seen.steps() == [actions.ESCAPE]


def test_a_call_is_held_while_a_command_of_the_same_turn_works() -> None:
    seen = busy()
    seen.tree = (2, True)
    seen.tool("WebFetch")
    seen.tool("Bash")
    seen.advance(600)
    assert not seen.taken
    assert "a command of the same turn works" in seen.last("held").message
    seen.tree = (2, False)
    seen.advance(600)
    assert seen.steps() == [actions.ESCAPE]


def test_a_command_that_a_person_started_is_left_alone() -> None:
    """`!` in Claude Code: the status says busy, and no hook tells why."""
    seen = busy()
    seen.shell = True
    seen.advance(10_000)
    assert not seen.taken
    assert "person" in seen.last("held").message
