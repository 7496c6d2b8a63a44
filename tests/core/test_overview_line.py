"""The overview in little room: bounds hold for any entries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import LIMITS, START, stamp
from unhang.core import events as ev
from unhang.core.overview import Pulse, entry_of
from unhang.core.overview_line import bars, status_line, why_of
from unhang.core.view import View


@given(st.lists(st.integers(0, 1 << 40), max_size=50))
def test_a_picture_has_one_character_a_number_and_the_highest_is_the_highest(counts: list[int]) -> None:
    drawn = bars(counts)
    assert len(drawn) == len(counts)
    for n, c in zip(counts, drawn, strict=True):
        assert (n == 0) == (c == " ")
    if any(counts):
        assert drawn[counts.index(max(counts))] == max(drawn)


def test_nothing_is_an_empty_line() -> None:
    assert status_line([]) == ""


def _entry(*events: ev.Event) -> dict[str, Any]:
    view, pulse = View(), Pulse()
    for seq, event in enumerate((ev.started(7, "make", LIMITS), *events), 1):
        for reader in (view, pulse):
            reader.apply({"seq": seq, "ts": stamp(START)} | event)
    return entry_of("j", {"argv": ["make"]}, view, pulse, command="make")


def _quiet(phase: str, state: str) -> ev.Event:
    asleep = {"state": state, "cause": "timer", "reason": "sleep [4] sleeps, wakes by itself in 10m", "processes": []}
    return ev.watchdog(phase, "", stallMs=1, diagnosis=asleep | {"evidence": {"endsInMs": 600_000}})


@pytest.mark.parametrize(("phase", "state"), [("quiet", "alive"), ("stuck", "unsure")])
def test_a_time_until_it_wakes_runs_on_and_the_entry_stays_the_same(phase: str, state: str) -> None:
    found = _entry(_quiet(phase, state))
    assert found["wakesMs"] == round((START + 600) * 1000)
    assert why_of(found, START + 60) == "sleep [4] sleeps, wakes by itself in 9m"
    assert why_of(found, START + 660) == "sleep [4] sleeps, wakes by itself (due 1m ago)"
    prompt = _entry(_quiet(phase, state), ev.watchdog("needs_input", "", prompt="Name? ", since=stamp(START)))
    assert prompt["wakesMs"] is None, "the question is shown, and not why it is quiet"
    ended = _entry(_quiet(phase, state), ev.exited("completed", "", {"status": "success", "exitCode": 0}))
    assert ended["wakesMs"] is None


def test_what_serves_says_where_unless_it_needs_a_person() -> None:
    addresses = {"ports": ["127.0.0.1:5173", "[::]:80"]}
    assert why_of(_entry() | addresses, START) == "serves 127.0.0.1:5173, [::]:80"
    assert why_of(_entry(_quiet("stuck", "unsure")) | addresses, START).startswith("sleep [4]")
    assert why_of(_entry() | {"where": "on build-7"}, START) == "on build-7"
