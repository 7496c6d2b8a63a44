"""Counters grow with every event, however often and wherever the counting is interrupted, and are exact."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import START, logs, stamp
from unhang.core import events as ev
from unhang.core.metrics import series
from unhang.core.metrics.tally import Tally, add


def tally_of(*events: dict[str, Any]) -> dict[str, float]:
    tally = Tally()
    for seq, event in enumerate(events, 1):
        tally.apply({"seq": seq, "ts": stamp(START + 10 * seq)} | event)
    return {key: value for key, value in tally.counts.items() if value}


STARTED = ev.started(7, "make", {})
OUTPUT = ev.output("stdout", 1, 0)
DONE = ev.exited("completed", "", {"status": "success", "exitCode": 0, "durationMs": 2500, "keeperCpuMs": 40})


@given(logs(), st.integers(0, 30))
def test_counts_only_grow_and_do_not_depend_on_where_counting_was_interrupted(
    log: list[dict[str, Any]], cut: int
) -> None:
    whole = Tally()
    before: dict[str, float] = {}
    for event in log:
        whole.apply(event)
        assert all(whole.counts[key] >= value for key, value in before.items())
        before = dict(whole.counts)
    first = Tally()
    for event in log[:cut]:
        first.apply(event)
    ended = first.ended
    second = Tally.from_json(json.loads(json.dumps(first.to_json())))
    for event in log[cut:]:
        second.apply(event)
    assert second.counts == whole.counts
    assert ended or second.ended == whole.ended


@given(logs())
def test_every_count_belongs_to_a_series_that_is_known_beforehand(log: list[dict[str, Any]]) -> None:
    known = set()
    for metric in series.METRICS:
        for values in metric.sets:
            key = series.counted(metric, *values)
            buckets = [f"{key} {number}" for number in range(len(metric.bounds) + 1)]
            known |= {*buckets, f"{key} sum"} if metric.bounds else {key}
    tally = Tally()
    for event in log:
        tally.apply(event)
    assert tally.counts.keys() <= known


@given(st.dictionaries(st.sampled_from(["counts", "aliveAt", "warned", "extended", "waits", "steps"]), st.integers()))
def test_an_odd_state_counts_as_none(value: dict[str, Any]) -> None:
    tally = Tally.from_json(value)
    tally.apply({"seq": 1, "ts": stamp(START)} | STARTED)
    assert tally.counts == {"starts": 1}


def test_an_end_is_counted_with_its_reason_its_time_and_what_the_keeper_used() -> None:
    assert tally_of(STARTED, OUTPUT, DONE) == {
        "starts": 1,
        "ends success exit": 1,
        "duration 1": 1,
        "duration sum": 2.5,
        "cpu": 0.04,
    }
    for status, reason, fields in (
        ("timeout", "inactivity", {"error": {"kind": "inactivity"}}),
        ("timeout", "deadline", {"error": {"kind": "deadline"}}),
        ("cancelled", "cancelled", {"error": {"kind": "cancelled"}}),
        ("error", "lost", {"error": {"kind": "lost"}}),
        ("error", "spawn", {"error": {"kind": "spawn"}}),
        ("error", "signal", {"signal": "SIGSEGV"}),
        ("error", "exit", {"exitCode": 3}),
        ("error", "other", {"error": {"kind": "of a newer version"}}),
    ):
        counts = tally_of(ev.exited("failed", "", {"status": status} | fields))
        assert counts == {f"ends {status} {reason}": 1}


def test_a_warning_that_was_extended_is_a_false_alarm_if_the_job_then_ends_well() -> None:
    warning = ev.watchdog("warning", "", idleMs=1)
    extended = ev.watchdog("extended", "", tier="idle", asked=True)
    failed = ev.exited("failed", "", {"status": "error", "exitCode": 1})
    alarms = ("warnings", "extended", "false_alarms")
    for events, expected in (
        ((warning, extended, DONE), (1, 1, 1)),
        ((warning, extended, failed), (1, 1, 0)),
        ((warning, DONE), (1, 0, 0)),
        ((warning, OUTPUT, extended, DONE), (1, 0, 0)),  # it went on by itself
        ((ev.watchdog("warning", "", wallClockMs=1), OUTPUT, extended, DONE), (1, 1, 1)),
        ((extended, DONE), (0, 0, 0)),
        ((warning, extended, warning, extended, DONE), (2, 2, 2)),
    ):
        counts = tally_of(STARTED, *events)
        assert tuple(counts.get(name, 0) for name in alarms) == expected, events


def test_steps_are_counted_once_an_attempt() -> None:
    term, kill = (ev.signal(step, "", [1], "idle", "") for step in ("terminate", "kill"))
    again = STARTED | {"attempt": 2}
    counts = tally_of(STARTED, term, kill, kill, kill, again, term)
    assert (counts["steps terminate"], counts["steps kill"], counts["retries"]) == (2, 1, 1)


def test_the_time_to_notice_and_the_wait_for_a_person() -> None:
    stuck = ev.watchdog("stuck", "", stallMs=20_000)
    prompt = ev.watchdog("needs_input", "", prompt="Name?", since=stamp(START + 10))
    counts = tally_of(STARTED, stuck, prompt, OUTPUT)  # ten seconds apart
    assert (counts["noticed stuck 2"], counts["noticed stuck sum"]) == (1, 20)
    assert (counts["noticed needs_input 2"], counts["noticed needs_input sum"]) == (1, 20)
    assert counts["waited input sum"] == 10
    approval = ev.agent("needs_approval", "", alive=False)
    decided = ev.agent("running", "", alive=False) | {"decision": "accept"}
    counts = tally_of(STARTED, approval, ev.agent("metering", "", alive=False), decided, DONE)
    assert (counts["waited approval 1"], counts["waited approval sum"]) == (1, 20)
    counts = tally_of(STARTED, ev.agent("stuck", "", alive=False))
    assert counts["noticed stuck sum"] == 10
    assert tally_of(STARTED, prompt, DONE)["waited input sum"] == 10, "it ended unanswered"


def test_the_time_of_a_keeper_that_was_killed_is_what_was_seen_of_it() -> None:
    tally = Tally()
    tally.saw_keeper(3.0)
    tally.saw_keeper(2.0)
    tally.apply({"seq": 1, "ts": ""} | ev.exited("lost", "", {"status": "error", "error": {"kind": "lost"}}))
    assert tally.counts["cpu"] == 3.0


def test_totals_are_added_up() -> None:
    sums: dict[str, float] = {"a": 1}
    add(sums, {"a": 2, "b": 3})
    assert sums == {"a": 3, "b": 3}
