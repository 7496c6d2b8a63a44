"""Whatever was read has the types that the code relies on, or is left out."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.support.odd import SEEDS, anything, files, records
from unhang.core import events as ev
from unhang.core import outcome, values
from unhang.core.limits import Limits
from unhang.core.result import Printed, build
from unhang.core.spec import JobSpec, command_line, job_record
from unhang.core.view import View

SPEC = JobSpec(["make", "-j8"], None, "/src", Limits(), {"idleMs": {"value": 5000, "source": "default"}})
KEEPER = {
    "pid": 4,
    "start": "9",
    "guard": 3,
    "guardStart": "8",
    "boot": "b",
    "tag": (1 << 63) - 77,
    "parents": "",
    "nested": False,
}
JOB = SPEC.to_json() | {"v": 1, "id": "abc", "createdAt": "2026-01-02T03:04:05.678Z", "keeper": KEEPER}
DIAGNOSIS = {
    "state": "hung",
    "cause": "input",
    "reason": "waits",
    "evidence": {"pid": 4},
    "processes": [{"pid": 4, "ppid": 1, "comm": "sh", "cmd": "sh", "state": "S", "cpuPercent": 0.5, "waits": "w"}],
}
ERROR = {"code": "EIDLE", "kind": "inactivity", "message": "m", "idleMs": 4, "pid": 4, "survivors": [{"pid": 5}]}
END = {
    "status": "timeout",
    "exitCode": None,
    "signal": "SIGTERM",
    "timeoutReason": "no_output_timeout",
    "terminationMode": "soft",
    "durationMs": 1500,
    "longestSilenceMs": 900,
    "leaked": True,
    "leftovers": [{"pid": 4, "command": "sleep"}],
    "error": ERROR,
    "suggestions": ["a", "b"],
    "bytes": {"stdout": 10, "stderr": 0},
}
LIFE = [
    ev.started(4, "make", {"idleMs": {"value": 5000, "source": "default"}, "hardMs": {"value": None, "source": "x"}}),
    ev.output("stdout", 10, 0),
    ev.heartbeat("half"),
    ev.watchdog("needs_input", "Waits.", prompt="Name?", since="2026-01-02T03:04:05.678Z"),
    ev.watchdog("extended", "more", limits={"idleMs": 9000}, reason="asked for"),
    ev.watchdog("stuck", "No output.", diagnosis=DIAGNOSIS, stallMs=60000),
    ev.signal("terminate", "SIGTERM", [4, 5], "idle", "SIGTERM to 2"),
    ev.exited("timed_out", "no sign of life", END),
]
LOG = b"".join(ev.to_line({"seq": n, "ts": "2026-01-02T03:04:05.678Z"} | event) for n, event in enumerate(LIFE, 1))


def test_what_we_write_is_read_as_it_was() -> None:
    for line, event in zip(LOG.splitlines(), LIFE, strict=True):
        back = ev.from_line(line)
        assert back is not None
        assert {name: back[name] for name in event} == json.loads(json.dumps(event))
        assert list(back) == list(json.loads(line)), "in the order in which it was written"
    assert job_record(json.loads(json.dumps(JOB))) == json.loads(json.dumps(JOB))


@settings(max_examples=300, deadline=None)
@given(files(LOG))
def test_whatever_a_log_holds_folds_into_a_view_and_a_result(data: bytes) -> None:
    view = View()
    for line in data.splitlines():
        if (event := ev.from_line(line)) is not None:
            view.apply(event)
    assert view.status in ("running", *ev.STATUSES)
    assert all(isinstance(text, str) for text in (view.phase, view.started_at or "", view.heartbeat or ""))
    assert all(isinstance(entry, dict) for entry in view.limits.values())
    result = build("abc", view, Printed("out", "out", False), Printed("", "", False), 1.0)
    shown = result.to_json()
    assert json.loads(values.dump(shown), parse_constant=_refuse)["status"] == view.status
    assert shown["durationMs"] is None or 0 <= shown["durationMs"] <= values.LARGEST
    assert 0 <= outcome.exit_code(result.outcome) % 256 < 256
    assert -(1 << 31) <= result.shell_code < 1 << 31
    assert all(isinstance(text, str) for text in result.suggestions)


def _refuse(word: str) -> None:
    raise AssertionError(f"no JSON: {word}")


@settings(max_examples=300, deadline=None)
@given(records(json.loads(json.dumps(JOB))))
def test_whatever_a_job_record_holds_has_our_types(value: Any) -> None:
    if not isinstance(value, dict):
        return
    job = job_record(value)
    assert isinstance(command_line(job), str)
    keeper = job.get("keeper") or {}
    assert isinstance(keeper, dict)
    for name, kind in (("pid", int), ("guard", int), ("tag", int), ("start", str), ("boot", str), ("parents", str)):
        assert keeper.get(name) is None or isinstance(keeper[name], kind)
    assert all(isinstance(word, str) for word in job.get("argv") or [])
    assert all(isinstance(text, str) for pair in (job.get("labels") or {}).items() for text in pair)
    values.dump(job).encode()


@pytest.mark.parametrize("tag", ["unlimited", "-", "", 0, -1, 1 << 63, 1 << 64, True, None, 7.0])
def test_a_tag_that_is_no_number_of_a_job_is_left_out(tag: Any) -> None:
    assert not (job_record({"keeper": {"tag": tag}})["keeper"].get("tag"))


@settings(max_examples=300, deadline=None)
@given(anything)
def test_each_reading_returns_its_type_or_none(value: Any) -> None:
    assert isinstance(values.text(value), str | None)
    assert isinstance(values.whole(value), int | None)
    number = values.number(value)
    assert number is None or (math.isfinite(number) and number >= 0)
    moment = values.moment(value)
    assert moment is None or 0 <= moment < 1e11
    pid = values.pid(value)
    assert pid is None or 0 <= pid < 1 << 31


@settings(max_examples=200, deadline=None)
@given(anything)
def test_everything_can_be_written_as_json_that_every_reader_takes(value: Any) -> None:
    line = values.dump(value)
    line.encode()
    assert line.isprintable()
    assert json.loads(line, parse_constant=_refuse) == json.loads(values.dump(json.loads(line)))


@pytest.mark.parametrize("deep", [63, 64, 65, 500, 100_000])
def test_what_is_nested_deeply_is_cut_or_refused_and_uses_up_no_stack(deep: int) -> None:
    line = b'{"seq":1,"type":"agent","raw":' + b"[" * deep + b"]" * deep + b"}"
    event = ev.from_line(line)
    assert event is None or values.dump(event)
    assert (event is None) == (deep > 1000)


@pytest.mark.parametrize("digits", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 400, "9" * 4000])
def test_a_number_that_is_none_or_too_large_is_left_out(digits: str) -> None:
    event = ev.from_line(f'{{"seq":1,"type":"job/exited","durationMs":{digits},"exitCode":{digits}}}'.encode())
    assert event is not None
    assert event.get("durationMs") is None
    assert event.get("exitCode") is None


@pytest.mark.parametrize("seq", [None, True, 0, -1, 1.5, "1", 10**30])
def test_a_line_without_a_number_of_its_own_is_no_event(seq: Any) -> None:
    assert ev.from_line(json.dumps({"seq": seq, "type": "output"}).encode()) is None


def test_an_event_has_its_five_fields_whatever_was_written() -> None:
    for odd in SEEDS:
        event = ev.from_line(json.dumps({"seq": 1, "type": "x", "ts": odd, "phase": odd, "message": odd}).encode())
        assert event is not None
        assert all(isinstance(event[name], str) for name in ("ts", "type", "phase", "message"))


@given(st.binary(max_size=200))
def test_any_line_is_an_event_or_none(line: bytes) -> None:
    event = ev.from_line(line)
    assert event is None or event["seq"] > 0


def test_bytes_that_are_no_text_are_shown() -> None:
    assert values.dump({"a": "M\udcfcller", "b": "\ud800"}) == '{"a": "M\\\\xfcller", "b": "\ufffd"}'
    assert values.visible_bytes("a\udc80\udcffz é") == "a\\x80\\xffz é"
