"""Events on the wire: one line each, at most 4 KiB, and back again; and the view that every face folds them into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.core import events as ev
from unhang.core import notices
from unhang.core.view import KEPT_EVENTS, PHASE_AFTER, View

DOCS = Path(__file__).resolve().parents[2] / "docs" / "events.md"


def fold(listed: list[dict[str, Any]]) -> View:
    view = View()
    for event in listed:
        view.apply(event)
    return view


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)
names = st.sampled_from(["raw", "pid", "stream", "bytes", "reason", "method", "diagnosis", "error", "pids", "status"])
# what an event of some type carries has its type, or is left out: test_values.py
_TYPED = {"pid", "stream", "bytes", "reason", "method", "diagnosis", "error", "pids", "status"}
events = st.builds(
    lambda seq, kind, phase, message, fields: (
        fields | {"seq": seq, "ts": "2026-01-02T03:04:05.678Z", "type": kind, "phase": phase, "message": message}
    ),
    st.integers(min_value=1, max_value=10**9),
    st.sampled_from(ev.TYPES),
    st.sampled_from([*ev.ENDINGS, *ev.PHASES[ev.WATCHDOG], "running", "stopping"]),
    st.text(max_size=200),
    st.dictionaries(names, json_values, max_size=6),
)


@settings(max_examples=150, deadline=None)
@given(events)
def test_every_event_is_one_line_within_the_bound_and_keeps_its_number(event: dict[str, Any]) -> None:
    line = ev.to_line(event)
    assert len(line) <= ev.MAX_LINE
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    back = ev.from_line(line)
    assert back is not None
    assert back["seq"] == event["seq"]
    if event["type"] == ev.EXITED:
        assert (back["type"], back["phase"]) == (event["type"], event["phase"])
    elif back["type"] != ev.ELIDED and not back.get("rawCut"):
        written = json.loads(json.dumps(event))
        assert all(back[name] == written[name] for name in back if name not in _TYPED)


@pytest.mark.parametrize("size", [ev.MAX_LINE - 1, ev.MAX_LINE, ev.MAX_LINE + 1])
def test_the_bound_is_exact(size: int) -> None:
    event = {"seq": 1, "type": "agent", "phase": "thinking", "message": ""}
    event["message"] = "x" * (size - len(ev.to_line(event)))
    line = ev.to_line(event)
    assert (len(line) == size) == (size <= ev.MAX_LINE)
    back = ev.from_line(line)
    assert back is not None
    assert (back["type"] == ev.ELIDED) == (size > ev.MAX_LINE)


def test_raw_is_cut_before_anything_else() -> None:
    event = {"seq": 7, "ts": "t", "type": "agent", "phase": "thinking", "message": "m", "raw": "é" * 10_000}
    back = ev.from_line(ev.to_line(event))
    assert back is not None
    assert (back["type"], back["message"], back["rawCut"]) == ("agent", "m", True)
    assert back["raw"].startswith("é")


def test_an_elided_event_keeps_its_head() -> None:
    event = {"seq": 7, "ts": "t", "type": "agent", "phase": "p", "method": "m", "message": "x" * 9000, "other": 1}
    back = ev.from_line(ev.to_line(event))
    assert back is not None
    assert {name: back[name] for name in ("seq", "ts", "phase", "method", "elided")} == {
        "seq": 7, "ts": "t", "phase": "p", "method": "m", "elided": "agent",
    }  # fmt: skip


def test_the_end_of_a_job_is_shortened_and_never_elided() -> None:
    survivors = [{"pid": i, "command": "c" * 80, "state": "D"} for i in range(1000)]
    fields = {"status": "timeout", "exitCode": None, "error": {"code": "EIDLE", "survivors": survivors, "message": "m"}}
    line = ev.to_line({"seq": 1, "ts": "t"} | ev.exited("timed_out", "x" * 5000, fields))
    back = ev.from_line(line)
    assert len(line) <= ev.MAX_LINE
    assert back is not None
    assert (back["type"], back["phase"], back["status"]) == (ev.EXITED, "timed_out", "timeout")
    assert back["error"]["code"] == "EIDLE"
    assert back["error"]["survivors"][0]["pid"] == 0


def test_undecodable_bytes_of_a_command_do_not_break_the_line() -> None:
    back = ev.from_line(ev.to_line({"seq": 1} | ev.started(1, "a\udcffb", {})))
    assert back is not None
    assert back["message"].endswith("a\\xffb")


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{", b"[]", b"null", b"{}", b'{"seq":1}', b'{"seq":"1","type":"x"}', b"\0" * 9, b"[" * 99_999]
)
def test_a_line_that_is_no_event_is_none(line: bytes) -> None:
    assert ev.from_line(line) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(events, max_size=8), st.integers(min_value=0, max_value=8))
def test_any_prefix_of_what_was_written_folds(listed: list[dict[str, Any]], cut: int) -> None:
    read = [back for event in listed[:cut] if (back := ev.from_line(ev.to_line(_plausible(event)))) is not None]
    view = fold(read)
    assert view.seq == max((event["seq"] for event in read), default=0)
    assert len(view.last_events) <= KEPT_EVENTS
    assert view.ended == any(event["type"] == ev.EXITED for event in read)


def _plausible(event: dict[str, Any]) -> dict[str, Any]:
    """Fields that the keeper writes have the kinds that it writes; everything else may be anything."""
    fixed: dict[str, Any] = {}
    if event["type"] == ev.OUTPUT:
        fixed = {"stream": "stdout", "bytes": 5, "offset": 10}
    elif event["type"] == ev.EXITED:
        fixed = {"bytes": {"stdout": 1}}
    return event | fixed


def test_the_view_follows_a_job_through_its_whole_life() -> None:
    life = [
        ev.started(42, "make", {"idleMs": {"value": 1000, "source": "argument"}}),
        ev.output("stdout", 10, 0),
        ev.watchdog("warning", "soon", diagnosis={"state": "hung"}),
        ev.watchdog("resumed", "again"),
        ev.output("stdout", 5, 10),
        ev.signal("terminate", "SIGTERM", [42], "idle", "m"),
        ev.exited("timed_out", "m", {"status": "timeout", "bytes": {"stdout": 15, "stderr": 0}}),
    ]
    numbered = [{"seq": i, "ts": f"t{i}"} | event for i, event in enumerate(life, 1)]
    phases = [fold(numbered[:i]).phase for i in range(len(life) + 1)]
    expected = ["starting", "running", "running", "warning", "running", "running", "stopping", "timed_out"]
    assert phases == expected
    view = fold(numbered)
    assert (view.status, view.pid, view.seq, view.bytes["stdout"]) == ("timeout", 42, 7, 15)
    assert (view.started_at, view.last_activity_at, view.ended_at) == ("t1", "t5", "t7")
    assert view.diagnosis == {"state": "hung"}


# --- the closed table of phases: an event phase is written in events, notices, view (watchdog only) and the docs ------


def test_every_phase_says_who_is_shown_it() -> None:
    assert {kind: tuple(phases) for kind, phases in notices.AUDIENCES.items()} == ev.PHASES
    assert set(ev.PHASES) == set(ev.TYPES) - {ev.ELIDED}


def test_every_watchdog_phase_says_where_the_job_stands_after_it() -> None:
    assert tuple(PHASE_AFTER) == ev.PHASES[ev.WATCHDOG]


def test_every_phase_and_every_field_of_a_watchdog_event_is_documented_in_a_row_of_its_type() -> None:
    text = DOCS.read_text(encoding="utf-8")
    documented = {kind: _names_in_table(text, f"`{kind}` phase") for kind in (ev.WATCHDOG, ev.AGENT)}
    assert {kind: tuple(rows) for kind, rows in documented.items()} == {
        kind: ev.PHASES[kind] for kind in (ev.WATCHDOG, ev.AGENT)
    }
    for phase, fields in ev.WATCHDOG_FIELDS.items():
        missing = [name for name in fields if f"`{name}`" not in documented[ev.WATCHDOG][phase]]
        assert missing in ([], ["diagnosis"])
    for kind in set(ev.PHASES) - {ev.WATCHDOG, ev.AGENT}:
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{kind}` |")]
        assert all(f"`{phase}`" in row.split("|")[2] for phase in ev.PHASES[kind])


@pytest.mark.parametrize("kind", [ev.WATCHDOG, ev.AGENT])
def test_the_documents_say_who_is_shown_each_phase(kind: str) -> None:
    rows = _names_in_table(DOCS.read_text(encoding="utf-8"), f"`{kind}` phase")
    shown = {phase: row.split("|")[-2].split() for phase, row in rows.items()}
    assert shown == {
        phase: ["t"] * bool(who.terminal) + ["c"] * bool(who.client) for phase, who in notices.AUDIENCES[kind].items()
    }


def _names_in_table(text: str, head: str) -> dict[str, str]:
    """The rows of the table with this head: the name in the first column → the whole row."""
    table = text.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {row.split("|")[1].strip().strip("`"): row for row in table}


def _make(kind: str, phase: str) -> ev.Event:
    if kind == ev.WATCHDOG:
        return ev.watchdog(phase, "m")
    return ev.agent(phase, "m") if kind == ev.AGENT else ev.exited(phase, "m", {})


@pytest.mark.parametrize("kind", [ev.WATCHDOG, ev.AGENT, ev.EXITED])
def test_an_unknown_phase_is_refused_where_it_is_made_and_read_as_it_is(kind: str) -> None:
    for phase in ev.PHASES[kind]:
        assert _make(kind, phase)["phase"] == phase
    with pytest.raises(ev.InvalidEvent, match="'newer'"):
        _make(kind, "newer")
    back = ev.from_line(ev.to_line({"seq": 1, "ts": "t", "type": kind, "phase": "newer", "message": "m"}))
    assert back is not None
    assert back["phase"] == "newer"
    assert notices.audience(back) == notices.Audience()
    assert fold([back]).phase == "newer"


def test_a_field_that_the_phase_does_not_have_is_refused() -> None:
    with pytest.raises(ev.InvalidEvent, match="prompt"):
        ev.watchdog("slow", "m", prompt="Name?")


def test_signals_are_shown_on_the_terminal_only_when_a_limit_sent_them() -> None:
    shown = {
        reason: notices.audience(ev.signal("terminate", "SIGTERM", [1], reason, "m")).terminal
        for reason in ("idle", "hard", "cancelled", "leak")
    }
    assert shown == {"idle": notices.WARNING, "hard": notices.WARNING, "cancelled": "", "leak": ""}
