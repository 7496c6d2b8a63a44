"""The timeline as text: it fits its width whatever the events are, and every mark stands where it happened."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import LIMITS, START, logs, stamp
from unhang.core import events as ev
from unhang.core.timeline import Timeline
from unhang.core.timeline_text import LEAST_WIDTH, timeline_lines
from unhang.core.wrap import cells


def picture(log: list[dict[str, Any]]) -> dict[str, Any]:
    timeline = Timeline()
    for event in log:
        timeline.apply(event)
    return timeline.to_json()


@given(logs(), st.integers(0, 200), st.integers(0, 10**6))
def test_no_line_is_wider_than_the_window_and_every_mark_is_listed(
    log: list[dict[str, Any]], width: int, later: int
) -> None:
    found = picture(log)
    lines = timeline_lines(found, width, START * 1000 + later)
    assert all(cells(line) <= max(width, LEAST_WIDTH) for line in lines)
    assert len(lines) == 4 + len(found["marks"]) + len(found["calls"])


def test_nothing_has_no_picture() -> None:
    assert timeline_lines(picture([]), 80, 0.0) == []


def test_output_and_marks_stand_where_they_happened() -> None:
    events = [
        (0.0, ev.started(7, "make", LIMITS)),
        (50.0, ev.output("stdout", 9, 0)),
        (75.0, ev.watchdog("warning", "near", idleMs=5, willAbortInMs=1000)),
        (100.0, ev.exited("completed", "exited with 0", {"status": "success", "exitCode": 0})),
    ]
    log = [{"seq": n, "ts": stamp(START + at)} | event for n, (at, event) in enumerate(events, 1)]
    printed, marks, scale, _, *listed = timeline_lines(picture(log), 40, 0.0)
    assert [at for at, sign in enumerate(printed) if sign != " "] == [20]
    assert {sign: at for at, sign in enumerate(marks) if sign != " "} == {"▸": 0, "▲": 30, "■": 39}
    assert scale.split() == ["0", "1m", "40s"]
    assert [line.split()[0] for line in listed] == ["+0s", "+1m", "+1m"]
