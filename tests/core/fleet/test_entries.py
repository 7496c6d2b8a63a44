"""A job of another machine as an entry of the overview: whole, whatever was published, and honest about the offline."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import logs
from unhang.core.fleet.entries import entry_from, of_entry
from unhang.core.fleet.presence import Machine
from unhang.core.fleet.rows import read_row
from unhang.core.fleet.session_rows import published_event, session_row
from unhang.core.overview import GROUPS, Pulse, counts, entry_of, session_entry
from unhang.core.session_view import SessionView
from unhang.core.view import View

_ONLINE = Machine("beta", True, "2026-01-01T00:00:00Z", "home")
_ROW = {"jobId": "j", "status": "running", "phase": "running", "command": "make", "cwd": "/", "labels": {}}
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def entry(log: list[dict[str, Any]]) -> dict[str, Any]:
    view, pulse = View(), Pulse()
    for event in log:
        view.apply(event)
        pulse.apply(event)
    return entry_of("j", {"argv": ["make"], "stdin": "pipe", "cwd": "/"}, view, pulse, command="make")


def published(made: dict[str, Any], **changes: Any) -> dict[str, Any]:
    row = _ROW | {name: made[name] for name in ("status", "phase", "endedAt", "exitCode")}
    row |= {"needs": made["attention"], "entry": of_entry(made) | changes}
    found = read_row(json.dumps(row).encode())
    assert found is not None
    return found


@given(logs())
def test_what_is_published_comes_back_as_the_same_entry(log: list[dict[str, Any]]) -> None:
    made = entry(log)
    there = entry_from(published(made), "beta", _ONLINE, 0.0)
    if there["attention"] is not None:
        assert there["attention"]["command"].split()[2] == "j@beta"
        there["attention"] |= {"command": made["attention"]["command"]}
    assert there == made | {"id": "j@beta", "machine": "beta"}


def test_a_strangers_name_of_a_job_is_one_harmless_line() -> None:
    row = published(entry([])) | {"name": "\x1b[2Jweb\n" + "x" * 1000}
    name = entry_from(row, "beta", _ONLINE, 0.0)["name"]
    assert (name.isprintable(), len(name) < 1000, "web" in name) == (True, True, True)


@pytest.mark.parametrize("machine", [None, _ONLINE.replace(online=False)])
def test_what_had_not_ended_is_unknown_and_is_not_counted_as_running(machine: Machine | None) -> None:
    made = entry([])
    found = entry_from(published(made), "beta", machine, 0.0)
    assert (found["status"], found["phase"], found["group"], found["endedAt"]) == (
        "unknown",
        "unknown",
        "unknown",
        None,
    )
    assert counts([found]) == {"attention": 0, "running": 0, "stuck": 0, "failed": 0, "done": 0}


@given(st.sampled_from(sorted(of_entry(entry([])))), _ANY)
def test_an_entry_is_whole_whatever_a_stranger_published(field: str, value: object) -> None:
    found = entry_from(published(entry([]), **{field: value}), "beta", _ONLINE, 0.0)
    assert found.keys() == {*entry([]), "machine"}
    assert found["group"] in GROUPS
    for clock in found["clocks"]:
        assert clock["endsMs"] >= 0
    assert found["spark"] is None or all(isinstance(n, int) for n in found["spark"]["bytes"])
    assert found["needsInput"] is None or isinstance(found["needsInput"]["prompt"], str)


def test_a_session_comes_back_as_the_same_entry_but_for_its_pane_and_has_calls_whatever_was_published() -> None:
    view = SessionView()
    for seq, event in enumerate(({"phase": "tool", "toolUseId": "a"}, {"phase": "waiting", "pane": "%3"}), 1):
        view.apply({"seq": seq, "ts": "2026-01-01T00:00:00Z", "type": "hook", "message": "Bash: x --token=abc"} | event)
    made = session_entry("s-1", view.state())
    assert made["attention"]["command"]
    row = read_row(json.dumps(session_row(made)).encode())
    assert row is not None
    there = entry_from(row, "beta", _ONLINE, 0.0)
    assert there == made | {
        "id": "s-1@beta",
        "machine": "beta",
        "attention": made["attention"] | {"command": ""},
    }
    assert there["doing"] == "Bash: x --token=***"
    assert entry_from(row | {"entry": None}, "beta", _ONLINE, 0.0)["agent"]["calls"] == []
    assert entry_from(row, "beta", None, 0.0)["status"] == "unknown"


def test_an_event_of_a_session_is_published_without_what_is_private_and_with_masked_secrets() -> None:
    event = {"seq": 3, "ts": "now", "type": "hook", "phase": "tool", "message": "Bash: x --token=abc", "pid": 7}
    typed: dict[str, Any] = {"draft": "what a person typed", "prompt": "the same"}
    secret = typed | {"tmux": "/tmp/tmux,1,0", "pane": "%3", "configDir": "/srv"}
    secret |= {"toolInput": {"command": "x --token=abc"}}
    masked = {"message": "Bash: x --token=***", "toolInput": {"command": "x --token=***"}}
    assert published_event(event | secret) == event | masked
    assert published_event(published_event(event | secret)) == event | masked
