"""Any payload of a hook: recorded in one sound line, or not at all; nothing but its session's folder is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.support.acp_agents.odd import FEW, ODD, mutated
from tests.support.cli.hooks import ID, PAYLOAD, Hooks
from unhang.core import events as ev
from unhang.core.session_events import HOOK, PHASES
from unhang.sessions.claude import hook_command
from unhang.sessions.claude.hooks import event_of
from unhang.store.session_log import SessionLog, is_session_id

FULL = PAYLOAD | {
    "duration_ms": 3,
    "background_tasks": [{"id": "a", "status": "running"}],
    "prompt": "x",
    "message": "m",
    "error": "e",
    "agent_id": "a1",
    "is_interrupt": False,
    "source": "s",
    "notification_type": "n",
}


def sound(event: dict[str, Any]) -> None:
    line = ev.to_line({"seq": 1, "ts": ""} | event)
    assert len(line) <= ev.MAX_LINE
    read = json.loads(line, parse_constant=pytest.fail)
    assert read["type"] == "hook", "cut, not elided"
    assert read["phase"] in PHASES[HOOK]
    assert "\n" not in read["message"]


@given(payload=mutated((FULL,)))
@FEW
def test_an_odd_payload_is_one_sound_event(payload: dict[str, Any]) -> None:
    sound(event_of(payload, {"CLAUDE_PID": "1"}))


@given(data=st.data())
@FEW
def test_harmed_bytes_are_one_sound_event(data: st.DataObject) -> None:
    whole = json.dumps(data.draw(mutated((FULL,)))).encode()
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole)))
        whole = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + data.draw(st.integers(0, 3)) :]
    sound(event_of(hook_command.read_payload(whole, data.draw(st.just(b"") | st.just(whole[-50:]))), {}))


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_the_environment_of_a_hook_may_be_odd_too(value: Any) -> None:
    if isinstance(value, str):
        names = ("CLAUDE_PID", "TMUX", "TMUX_PANE", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SESSION_ID")
        sound(event_of({}, dict.fromkeys(names, value)))


@given(
    name=st.text(st.characters(exclude_categories=()), max_size=80) | st.sampled_from(["..", ".", "a/../b", "~", "\0"])
)
@FEW
def test_a_session_id_stays_in_its_folder(name: str) -> None:
    if is_session_id(name):
        path = SessionLog(name, "/home").path
        assert os.path.normpath(path) == path
        assert os.path.dirname(os.path.dirname(path)) == "/home/sessions"


def test_a_flood_is_given_up_soon_and_in_constant_memory(hooks: Hooks) -> None:
    """Not after the seconds that a slow writer has, but after more bytes than a payload can have."""
    code = (
        "import resource, sys; from unhang.sessions.claude import hook_command; code = hook_command.serve();"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    for flood in ("yes '{\"session_id\": [{},'", "cat /dev/zero", "yes '[[[[[[[[[[[['"):
        line = f"{flood} | {sys.executable} -c '{code}'"
        done = subprocess.run(["sh", "-c", line], env=hooks.env, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0
        assert int(done.stdout) < 120 << 10, "KiB"


def test_a_payload_of_a_million_values_costs_no_memory(hooks: Hooks) -> None:
    data = json.dumps(PAYLOAD)[:-1].encode() + b', "tool_response": [' + b"{}," * 1_000_000 + b"0]}"
    hooks.quiet(data)
    (event,) = hooks.recorded()
    assert (event["sessionId"], event["toolUseId"], event["method"]) == (ID, "toolu_01", "PreToolUse")


PLANTED = [(where, kind) for where in ("file", "session", "sessions") for kind in ("fifo", "link", "dangling")]


@pytest.mark.parametrize(("where", "kind"), [*PLANTED, ("file", "folder")])
def test_what_stands_in_the_place_of_a_stream_is_refused_and_not_waited_for(
    where: str, kind: str, hooks: Hooks, tmp_path: Path
) -> None:
    folder = hooks.home / "sessions" / ID
    folder.mkdir(parents=True)
    for made in (hooks.home, folder.parent, folder):
        made.chmod(0o700)
    place = {"file": folder / "events.ndjson", "session": folder, "sessions": folder.parent}[where]
    if place.is_dir():
        folder.rmdir()
        if place == folder.parent:
            place.rmdir()
    elsewhere = tmp_path / "elsewhere"
    if kind != "dangling":
        elsewhere.mkdir()
    match kind:
        case "fifo":
            os.mkfifo(place)
        case "folder":
            (place / "in it").mkdir(parents=True)
        case _:
            place.symlink_to(elsewhere)
    done = hooks.quiet(PAYLOAD)
    assert b"not recorded" in done.err
    assert not elsewhere.exists() or list(elsewhere.iterdir()) == []
