"""The picture of a job's life: bounded, in order, and made of what happened."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from tests.support.event_logs import START, logs, stamp
from unhang.core import events as ev
from unhang.core.timeline import Timeline


def drawn(log: list[dict[str, Any]]) -> dict[str, Any]:
    timeline = Timeline()
    for event in log:
        timeline.apply(event)
    return timeline.to_json()


@given(logs())
def test_the_picture_lies_between_the_first_and_the_last_event(log: list[dict[str, Any]]) -> None:
    found = drawn(log)
    assert json.loads(json.dumps(found)) == found
    assert found["seq"] == log[-1]["seq"]
    assert found["ended"] == (log[-1]["type"] == ev.EXITED)
    times = [mark["atMs"] for mark in found["marks"]]
    assert times == sorted(times)
    assert all(found["fromMs"] <= at <= found["toMs"] for at in times)
    for span in [*found["silences"], *found["calls"], *found["thoughts"]]:
        assert found["fromMs"] <= span["fromMs"]
        assert span["toMs"] is None or span["fromMs"] <= span["toMs"] <= found["toMs"]
    printed = sum(event["bytes"] for event in log if event["type"] == ev.OUTPUT)
    assert sum(count for _, count in found["output"]) == printed


def test_a_long_life_is_coarser_and_not_larger() -> None:
    timeline = Timeline()
    for second in range(20_000):
        timeline.apply({"seq": second + 1, "ts": stamp(START + second)} | ev.output("stdout", 10, 10 * second))
    found = timeline.to_json()
    assert len(found["output"]) <= 1500
    assert sum(count for _, count in found["output"]) == 200_000
    assert len(found["offsets"]) <= 2000


def test_a_silence_and_a_tool_call_are_spans() -> None:
    log = [ev.started(7, "make", {}), ev.output("stdout", 5, 0), ev.agent("running", "Bash: make") | {"toolUseId": "a"}]
    log += [ev.agent("running", "exit 2") | {"toolUseId": "a", "failed": True}]
    times = (0, 1, 31, 61)
    found = drawn([{"seq": i, "ts": stamp(START + times[i - 1])} | event for i, event in enumerate(log, 1)])
    assert [span["toMs"] - span["fromMs"] for span in found["silences"]] == [30_000, 30_000]
    assert [(call["what"], call["toMs"] - call["fromMs"], call["failed"]) for call in found["calls"]] == [
        ("Bash: make", 30_000, True)
    ]
