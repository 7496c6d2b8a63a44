"""The entries that every surface draws: their order, their clocks, and that they say what the view says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_logs import LIMITS, SAYS, START, an_agent, logs, stamp
from unhang.core import events as ev
from unhang.core.overview import (
    GROUPS,
    SPARK_SECONDS,
    SPARK_STEPS,
    Pulse,
    Usage,
    clocks_of,
    clocks_told,
    counts,
    entry_of,
    in_order,
    session_entry,
    usage_json,
)
from unhang.core.session_view import SessionView
from unhang.core.view import View


def folded(log: list[dict[str, Any]]) -> tuple[View, Pulse]:
    view, pulse = View(), Pulse()
    for event in log:
        view.apply(event)
        pulse.apply(event)
    return view, pulse


def entry(log: list[dict[str, Any]], job: str = "j", **record: Any) -> dict[str, Any]:
    return entry_of(job, {"argv": ["make"], "stdin": "pipe"} | record, *folded(log), command="make")


@given(logs())
def test_an_entry_says_what_the_view_says_and_is_plain_json(log: list[dict[str, Any]]) -> None:
    view, _ = folded(log)
    found = entry(log)
    assert json.loads(json.dumps(found)) == found
    assert {name: found[name] for name in view.summary()} == view.summary()
    assert (found["status"], found["attempt"], found["needsInput"]) == (view.status, view.attempt, view.needs_input)
    assert found["group"] in GROUPS
    assert (found["attention"] is not None) == (found["group"] == "attention")
    if view.ended:
        assert found["group"] in ("failed", "done")
        assert not found["clocks"]


@given(logs())
def test_an_entry_is_the_same_however_often_it_is_made(log: list[dict[str, Any]]) -> None:
    view, pulse = folded(log)
    record = {"argv": ["make"], "stdin": "pipe"}
    assert entry_of("j", record, view, pulse, command="make") == entry_of("j", record, view, pulse, command="make")


@given(logs())
def test_clocks_run_from_a_sign_of_life_to_an_end_and_the_nearest_comes_first(log: list[dict[str, Any]]) -> None:
    view, pulse = folded(log)
    found = clocks_of(view, pulse)
    assert [clock["endsMs"] for clock in found] == sorted(clock["endsMs"] for clock in found)
    assert len({clock["name"] for clock in found}) == len(found)
    for clock in found:
        assert clock["sinceMs"] <= clock["endsMs"]
    if not view.ended and not pulse.stopping:
        assert {clock["name"] for clock in found} == {"idle", "hard"}


@given(st.integers(1, 100), st.integers(1, 100))
def test_an_announced_end_holds_until_the_next_sign_of_life(quiet: int, left: int) -> None:
    log = [{"seq": 1, "ts": stamp(START)} | ev.started(7, "make", LIMITS)]
    warning = ev.watchdog("warning", "near", idleMs=quiet * 1000, willAbortInMs=left * 1000)
    log.append({"seq": 2, "ts": stamp(START + quiet)} | warning)
    idle = next(clock for clock in clocks_of(*folded(log)) if clock["name"] == "idle")
    assert idle["endsMs"] == round((START + quiet + left) * 1000)
    log.append({"seq": 3, "ts": stamp(START + quiet + 1)} | ev.output("stdout", 5, 0))
    idle = next(clock for clock in clocks_of(*folded(log)) if clock["name"] == "idle")
    assert idle["endsMs"] == round((START + quiet + 1 + 60) * 1000)


@given(st.lists(logs(), max_size=8), st.randoms())
def test_what_needs_a_person_comes_first_and_the_order_is_one(every: list[list[dict[str, Any]]], random: Any) -> None:
    entries = [entry(log, f"j{i}") for i, log in enumerate(every)]
    found = in_order(entries)
    groups = [GROUPS.index(each["group"]) for each in found]
    assert groups == sorted(groups)
    random.shuffle(entries)
    assert in_order(entries) == found


@given(st.lists(logs(), max_size=8))
def test_counts_add_up(every: list[list[dict[str, Any]]]) -> None:
    entries = [entry(log, f"j{i}") for i, log in enumerate(every)]
    found = counts(entries)
    assert found["running"] + found["failed"] + found["done"] == len(entries)
    assert found["stuck"] <= found["attention"] <= found["running"]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1 << 30)), min_size=1, max_size=300))
def test_the_picture_of_the_output_has_the_last_bytes_and_a_bounded_size(printed: list[tuple[int, int]]) -> None:
    pulse = Pulse()
    at = START
    for wait, count in printed:
        at += wait / 100
        pulse.apply({"ts": stamp(at)} | ev.output("stdout", count, 0))
    found = pulse.spark()
    assert found is not None
    assert 1 <= len(found["bytes"]) <= SPARK_STEPS
    assert found["bytes"][-1] > 0
    # the time of an event is written in whole milliseconds
    assert -1 <= found["endMs"] - at * 1000 <= SPARK_SECONDS * 1000 + 1
    if at - START < (SPARK_STEPS - 1) * SPARK_SECONDS:
        assert sum(found["bytes"]) == sum(count for _, count in printed)


def test_a_tool_call_is_open_until_its_second_event_or_the_end_of_the_turn() -> None:
    pulse = Pulse()
    for event in (an_agent("running", "Bash: make", "a"), an_agent("running", "Read: x", "b")):
        pulse.apply({"ts": stamp(START)} | event)
    assert list(pulse.calls) == ["a", "b"]
    pulse.apply({"ts": stamp(START)} | an_agent("running", "make: exit 0", "a"))
    assert list(pulse.calls) == ["b"]
    pulse.apply({"ts": stamp(START)} | an_agent("completed", "done", None))
    assert not pulse.calls


def test_use_of_the_processor_needs_two_looks() -> None:
    first, second = Usage(1000, 5, 1), Usage(2000, 7, 2)
    assert usage_json(None, first, 0.0)["cpuPercent"] is None
    assert usage_json(first, second, 2.0) == {"cpuPercent": 50, "memoryBytes": 7, "processes": 2}
    assert usage_json(second, first, 2.0)["cpuPercent"] == 0  # a process has ended, and its time with it


def test_a_job_that_cannot_be_judged_from_here_has_no_clock_and_needs_no_one() -> None:
    log = [{"seq": 1, "ts": stamp(START)} | ev.started(7, "make", LIMITS)]
    view, pulse = folded(log)
    found = entry_of("j", {"argv": ["make"]}, view, pulse, command="make", where="host far")
    assert (found["phase"], found["where"], found["clocks"], found["attention"]) == ("elsewhere", "host far", [], None)


# --- sessions ---------------------------------------------------------------------------------------------------

HOOKS = st.builds(
    lambda phase, call, agent, text: {
        "type": "hook",
        "phase": phase,
        "toolUseId": call,
        "agentId": agent,
        "message": text,
        "cwd": "/srv/web",
        "pid": 5,
        "procStart": "1",
    },
    st.sampled_from(
        [
            "starting",
            "ended",
            "prompted",
            "tool",
            "tool_done",
            "tool_failed",
            "tools_done",
            "waiting",
            "denied",
            "notice",
            "idle",
            "failed",
            "other",
        ]
    ),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, "s"]),
    SAYS,
)
WATCHES = st.builds(
    lambda phase, text: {"type": "watch", "phase": phase, "message": text, "pid": 5},
    st.sampled_from(
        [
            "found",
            "idle",
            "busy",
            "waiting",
            "warning",
            "extended",
            "hung",
            "step",
            "effect",
            "held",
            "recovered",
            "gave_up",
            "gone",
        ]
    ),
    SAYS,
)


@given(st.lists(st.one_of(HOOKS, WATCHES), max_size=30))
def test_a_session_is_an_entry_with_the_fields_of_a_job(events: list[dict[str, Any]]) -> None:
    view = SessionView()
    for seq, event in enumerate(events, 1):
        view.apply({"seq": seq, "ts": stamp(START + seq)} | event)
    found = session_entry("abc", view.state())
    job = entry([{"seq": 1, "ts": stamp(START)} | ev.started(7, "make", LIMITS)])
    assert set(found) == set(job)
    assert json.loads(json.dumps(found)) == found
    assert found["seq"] == len(events)
    if found["endedAt"] is not None:
        assert found["attention"] is None
        assert found["agent"]["calls"] == []
    assert in_order([found, job])


def test_a_session_that_waits_for_permission_needs_a_person_until_it_goes_on() -> None:
    view = SessionView()
    view.apply({"seq": 1, "ts": stamp(START), "type": "hook", "phase": "tool", "toolUseId": "a", "message": "Bash: rm"})
    view.apply({"seq": 2, "ts": stamp(START), "type": "hook", "phase": "waiting", "message": "Bash: rm"})
    assert view.state()["attention"]["kind"] == "approval"
    view.apply(
        {"seq": 3, "ts": stamp(START), "type": "hook", "phase": "tool_done", "toolUseId": "a", "message": "done"}
    )
    assert view.state()["attention"] is None
    assert view.state()["calls"] == []


def test_an_escape_sequence_hides_no_part_of_what_a_session_asks_for() -> None:
    view = SessionView()
    asked = "Bash: echo \x1b]0; touch hidden; echo \x07 done"
    view.apply({"seq": 1, "ts": stamp(START), "type": "hook", "phase": "waiting", "message": asked})
    why = view.state()["attention"]["why"]
    assert "touch hidden" in why
    assert why.isprintable()


@given(logs(), st.none() | st.integers(0, 10**7), st.sampled_from(["idle", "hard"]))
def test_what_a_keeper_says_of_the_end_comes_first_and_nothing_ends_before_it(
    log: list[dict[str, Any]], left: int | None, name: str
) -> None:
    before = clocks_of(*folded(log))
    ends = None if left is None else START * 1000 + left
    after = clocks_told(before, ends, name)
    if ends is None:
        assert after == []
    elif before and after is not before and after[0]["name"] == name:
        assert after[0]["endsMs"] >= ends
        assert [clock["endsMs"] for clock in after] == sorted(clock["endsMs"] for clock in after)
        assert {clock["name"] for clock in after} <= {clock["name"] for clock in before}
