"""What people and the model are told: warnings that are true, with a reason; after a step what was done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.sessions.harness import Place
from tests.support.sessions.world import World, busy
from unhang.sessions import model_notes
from unhang.sessions.state import actions
from unhang.sessions.state.traffic import ConnectionPeer, waits_for
from unhang.store.session_log import SessionLog

URL = "http://10.0.0.7:8443/page"


def warned(world: World) -> actions.Say:
    return world.last("warning")


# --- people -----------------------------------------------------------------------------------------------------


def test_a_warning_names_the_call_its_reason_and_what_will_happen() -> None:
    seen = busy()
    seen.peers = (
        ConnectionPeer("10.0.0.7:8443", "ESTABLISHED", 0, 150.0),
        ConnectionPeer("127.0.0.1:9", "ESTABLISHED", 5000, 148.0),
    )
    seen.tool("WebFetch", url=URL)
    seen.advance(145)
    said = warned(seen)
    assert said.fields["title"] == f"WebFetch {URL}"
    assert said.fields["reason"] == "waits for 10.0.0.7:8443, connected, not one byte received"
    assert said.fields["willActInMs"] == 36_000
    assert URL in said.message
    assert said.fields["reason"] in said.message
    seen.advance(40)
    done = seen.last("recovered")
    assert done.aloud
    assert URL in done.message


@pytest.mark.parametrize("limit", [None, 100.0])
def test_a_command_with_a_timeout_of_its_own_is_not_said_to_be_ended_by_unhang_for_sure(limit: float | None) -> None:
    """Claude Code has moved it to the background by then."""
    seen = busy() if limit is None else busy(tools=(("Bash", limit),))
    seen.tool("Bash", command="tail -f /dev/null")
    seen.advance(175)
    assert ("unless its own timeout" in warned(seen).message) is (limit is None)


@pytest.mark.parametrize("hinders", ["dry run", "no pane", "subagent"])
def test_what_will_not_be_ended_is_not_said_to_be(hinders: str) -> None:
    seen = busy(dry_run=hinders == "dry run")
    if hinders == "no pane":
        seen.refused, seen.final = "no tmux pane is known for it", True
    agent = ""
    if hinders == "subagent":
        seen.agent_starts()
        agent = seen.agents[0]
    seen.tool("WebFetch", agent=agent)
    seen.advance(150)
    assert warned(seen).fields["willActInMs"] is None


def test_a_command_that_works_is_noted_once_and_quietly() -> None:
    seen = busy()
    seen.tree = (2, True)
    seen.tool("Bash", command="make")
    seen.advance(1400)
    assert [said.phase for _, said in seen.said if said.phase in ("warning", "extended", "hung")] == ["extended"]
    assert not any(said.aloud for _, said in seen.said)


def test_a_command_that_runs_on_in_the_background_is_noted_once_and_quietly() -> None:
    seen = busy()
    call = seen.tool("Bash", command="npm run dev")
    seen.advance(120)
    given = {"command": "npm run dev"}
    seen.hook("PostToolUse", tool_name="Bash", tool_use_id=call, tool_input=given, moved_after=120.0)
    del seen.calls[call]
    seen.wake()
    seen.advance(300)
    (noted,) = [said for _, said in seen.said if said.phase in ("warning", "extended", "hung")]
    assert (noted.phase, noted.aloud, noted.fields["title"]) == ("extended", False, "Bash npm run dev")
    assert noted.fields["toolUseId"] == call
    assert not seen.taken


def test_a_model_that_writes_is_noted_once_and_quietly() -> None:
    seen = busy(turn=None)
    seen.live_wire = ("a", 150, 1)
    seen.advance(3000)
    assert [said.phase for _, said in seen.said if said.phase in ("warning", "extended", "hung")] == ["extended"]
    assert "sent nothing" not in seen.last("extended").message
    assert not seen.taken


@pytest.mark.parametrize("proved", [True, False])
@pytest.mark.parametrize("on_hung", ["wait", "end"])
def test_a_command_that_is_proved_to_hang_goes_before_its_own_long_timeout_where_that_is_allowed(
    on_hung: str, proved: bool
) -> None:
    seen = busy(on_hung=on_hung, turn=None)
    seen.tree_hangs = proved
    seen.tool("Bash", command="make", timeout=3_600_000)
    seen.advance(70)
    early = [said.phase for _, said in seen.said if said.phase == "warning"]
    assert bool(early) == (proved and on_hung == "end")
    seen.advance(1000)
    assert seen.steps() == ([actions.END_TREE] if early else [])
    if early:
        warning, hung = warned(seen), seen.last("hung")
        assert warning.fields["willActInMs"] == hung.fields["ageMs"] - warning.fields["ageMs"]
        assert hung.fields["ageMs"] < hung.fields["limitMs"] == 3_660_000


@pytest.mark.parametrize(
    ("peers", "port", "said"),
    [
        (
            [ConnectionPeer("1.2.3.4:443", "ESTABLISHED", 0, 100.0)],
            "",
            "waits for 1.2.3.4:443, connected, not one byte received",
        ),
        (
            [ConnectionPeer("1.2.3.4:443", "ESTABLISHED", 9, 100.0)],
            "",
            "waits for 1.2.3.4:443, connected, nothing received for 1m 40s",
        ),
        (
            [ConnectionPeer("1.2.3.4:443", "SYN_SENT")],
            "",
            "waits for 1.2.3.4:443, which does not answer the connection attempt",
        ),
        (
            [ConnectionPeer("1.1.1.1:1", "ESTABLISHED", 0, 5.0), ConnectionPeer("2.2.2.2:2", "ESTABLISHED", 0, 900.0)],
            "",
            "",
        ),
        (
            [ConnectionPeer("1.2.3.4:80", "ESTABLISHED", 0, 5.0), ConnectionPeer("2.2.2.2:443", "ESTABLISHED", 9, 5.0)],
            "80",
            "waits for 1.2.3.4:80, connected, not one byte received",
        ),
        ([ConnectionPeer("1.2.3.4:80", "ESTABLISHED", 9, 5.0)], "80", ""),
        ([], "", ""),
    ],
)
def test_the_peer_that_was_silent_for_as_long_as_the_wait_lasts_is_named(
    peers: list[ConnectionPeer], port: str, said: str
) -> None:
    assert waits_for(tuple(peers), 100.0, port) == said


def test_the_peer_with_the_port_of_the_address_is_named_first() -> None:
    peers = (
        ConnectionPeer("127.0.0.1:1", "ESTABLISHED", 0, 99.0),
        ConnectionPeer("127.0.0.1:2", "ESTABLISHED", 7, 99.0),
    )
    assert "127.0.0.1:2," in waits_for(peers, 100.0, "2")


# --- the model --------------------------------------------------------------------------------------------------


def test_the_note_for_a_command_is_there_before_its_hook_can_fire() -> None:
    seen = busy()
    call = seen.tool("Bash", command="nc 10.0.0.7 80")
    seen.tree_dies_of = "never"
    seen.advance(190)
    assert seen.steps()[0] == actions.END_TREE
    assert "nc 10.0.0.7 80" in seen.notes[call]
    assert "not the user" in seen.notes[call]


def test_after_escape_the_model_is_told_what_was_ended_and_what_to_do() -> None:
    seen = busy()
    call = seen.tool("WebFetch", url=URL)
    seen.advance(200)
    assert seen.steps() == [actions.ESCAPE]
    assert URL in seen.notes[call]
    assert "Do not repeat it unchanged" in seen.notes[call]


@pytest.mark.parametrize("restored", [False, True])
def test_an_unattended_session_goes_on_where_that_is_allowed(restored: bool) -> None:
    seen = busy(go_on=True)
    seen.tool("WebFetch", url=URL)
    seen.advance(180.1)
    assert seen.steps() == [actions.ESCAPE]
    seen.draft = "what I had asked" if restored else ""
    seen.advance(5)
    assert seen.steps() == [actions.ESCAPE, actions.CONTINUE]
    assert seen.last("effect").fields == {"step": "continue", "ok": True}
    assert (seen.typed == "") is restored
    assert seen.main_busy


def test_without_leave_a_person_decides() -> None:
    seen = busy()
    seen.tool("WebFetch", url=URL)
    seen.advance(300)
    assert seen.steps() == [actions.ESCAPE]
    assert not seen.main_busy


def test_a_session_that_hangs_again_and_again_does_not_go_on_for_ever() -> None:
    seen = busy(go_on=True, per_session=50, per_machine=50)
    for _ in range(6):
        if not seen.main_busy:
            break
        seen.tool("WebFetch", url=URL)
        seen.advance(300)
    assert seen.steps().count(actions.CONTINUE) == 3


# --- the hook that tells it ---------------------------------------------------------------------------------------


def hook(place: Place, method: str, **more: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "unhang", "hook"],
        input=json.dumps({"session_id": "abc-1", "hook_event_name": method} | more),
        env=place.env | {"UNHANG_WATCH": "off"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_next_hook_tells_the_model_once(place: Place) -> None:
    assert hook(place, "SessionStart") == ""
    folder = SessionLog("abc-1", str(place.home)).folder
    model_notes.leave(folder, "a", "ended a", "")
    model_notes.leave(folder, "b", "ended b", "")
    model_notes.leave(folder, "b", "", "")
    model_notes.leave(folder, "c", "ended c", "agent1")
    assert hook(place, "Notification") == hook(place, "Stop") == ""
    said = json.loads(hook(place, "PostToolUseFailure", tool_name="Bash"))
    assert said == {"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "ended a"}}
    assert hook(place, "PostToolUse", tool_name="Bash") == ""
    said = json.loads(hook(place, "PreToolUse", tool_name="Bash", agent_id="agent1"))
    assert said["hookSpecificOutput"]["additionalContext"] == "ended c"
    assert not list(Path(folder).glob("context*"))


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a": 1, "b": {}}', b"\xff" * 100])
def test_a_note_that_cannot_be_read_is_dropped(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "context.json").write_bytes(data)
    assert model_notes.take(str(tmp_path), "") == ""
    assert list(tmp_path.iterdir()) == []
