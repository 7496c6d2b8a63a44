"""Events of a session: a phase that is not in the table is refused where the event is made."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT
from unhang.core import session_events
from unhang.core.events import InvalidEvent
from unhang.sessions.claude import hooks


@pytest.mark.parametrize("phase", ["", "bussy", "tool"])
def test_an_unknown_phase_of_the_watcher_is_refused(phase: str) -> None:
    with pytest.raises(InvalidEvent):
        session_events.watch(phase, "m", "S")


@pytest.mark.parametrize("phase", ["", "hung", "tools"])
def test_an_unknown_phase_of_a_hook_is_refused(phase: str) -> None:
    with pytest.raises(InvalidEvent):
        session_events.hook(phase, "Stop")


def test_every_phase_of_the_table_can_be_made() -> None:
    made = [session_events.watch(phase, "m", "S")["phase"] for phase in session_events.PHASES[session_events.WATCH]]
    made += [session_events.hook(phase, "x")["phase"] for phase in session_events.PHASES[session_events.HOOK]]
    assert made == [phase for kind in ("watch", "hook") for phase in session_events.PHASES[kind]]


def test_every_hook_has_a_phase_of_the_table_and_every_phase_a_hook() -> None:
    of_hooks = {hooks.event_of({"hook_event_name": name}, {})["phase"] for name in (*hooks.PHASE_OF_HOOK, "Unheard")}
    assert of_hooks == set(session_events.PHASES[session_events.HOOK])


def test_every_phase_of_the_watcher_is_documented() -> None:
    text = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert [phase for phase in session_events.PHASES["watch"] if not re.search(rf"`{phase}`", text)] == []
