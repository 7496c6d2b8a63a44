"""Which events end a caller's wait, and how long they stay open."""

from __future__ import annotations

from typing import Any

import pytest

from unhang.core import events as ev
from unhang.core.decision import LEAST_TIME_MS, decides, still_open
from unhang.core.notices import AUDIENCES
from unhang.core.view import View

AT = "2026-01-02T03:04:05Z"
ASKS = ev.watchdog("needs_input", "", prompt="Name:", since=AT)
HUNG = ev.watchdog("stuck", "", diagnosis={"state": "hung", "cause": "deadlock", "reason": "r"})
UNSURE = ev.watchdog("stuck", "", diagnosis={"state": "unsure", "cause": "network", "reason": "r"})
IDLE = ev.watchdog("warning", "", reason="no_output_timeout", willAbortInMs=LEAST_TIME_MS)
HARD = ev.watchdog("warning", "", reason="exec_timeout", willAbortInMs=30_000)
SOON = ev.watchdog("warning", "", reason="exec_timeout", willAbortInMs=LEAST_TIME_MS - 1)
OUTPUT = {"type": ev.OUTPUT, "phase": "running", "message": "", "stream": "stdout", "bytes": 1, "offset": 0}
RESUMED = ev.watchdog("resumed", "")


def view_after(*events: dict[str, Any]) -> View:
    view = View()
    for seq, event in enumerate(events, 1):
        view.apply({"seq": seq, "ts": AT} | event)
    return view


@pytest.mark.parametrize(
    ("event", "expected"),
    [(ASKS, True), (HUNG, True), (UNSURE, False), (IDLE, True), (HARD, True), (SOON, False), (OUTPUT, False)],
)
def test_a_prompt_a_certain_hang_and_a_warning_in_time_decide(event: dict[str, Any], expected: bool) -> None:
    assert decides(event) is expected


def test_no_other_event_decides() -> None:
    for kind, phases in AUDIENCES.items():
        for phase in phases:
            found = decides({"type": kind, "phase": phase})
            assert found == ((kind, phase) == (ev.WATCHDOG, "needs_input"))


@pytest.mark.parametrize(
    ("event", "after", "expected"),
    [
        (ASKS, [], True),
        (ASKS, [OUTPUT], False),
        (ASKS, [RESUMED], False),
        (HUNG, [], True),
        (HUNG, [OUTPUT], False),
        (IDLE, [OUTPUT], False),
        (HARD, [OUTPUT], True),
        (HARD, [{"type": ev.SIGNAL, "phase": "stopping", "message": ""}], False),
        (HARD, [{"type": ev.EXITED, "phase": "completed", "message": "", "status": "success"}], False),
    ],
)
def test_what_is_to_be_decided_stays_open_until_something_settles_it(
    event: dict[str, Any], after: list[dict[str, Any]], expected: bool
) -> None:
    assert still_open(event, view_after(event, *after)) is expected
