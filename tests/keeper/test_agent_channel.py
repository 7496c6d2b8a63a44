"""The descriptor between a driver and its keeper: whatever is written there is bounded, typed or passed over."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.support.acp_agents.odd import FEW, ODD
from unhang.agents.base.keeper_channel import Allowance, KeeperChannel
from unhang.agents.base.update import AgentUpdate
from unhang.core import events as ev
from unhang.keeper import agent_channel
from unhang.keeper.agent_channel import AgentChannel, event_of


@contextmanager
def line() -> Iterator[tuple[AgentChannel, int]]:
    reads, writes = os.pipe()
    ours = AgentChannel(reads)
    os.set_blocking(writes, False)
    try:
        yield ours, writes
    finally:
        ours.close()
        os.close(writes)


def check(said: dict[str, Any]) -> None:
    """As the keeper's loop uses it."""
    assert isinstance(said["alive"], bool)
    window = said.get("window")
    assert window is None or (type(window) is float and math.isfinite(window) and window > 0)
    event = event_of(said)
    if event is None:
        return
    written = ev.to_line({"seq": 1, "ts": ""} | event)
    assert len(written) <= ev.MAX_LINE
    read = json.loads(written, parse_constant=pytest.fail)
    assert (read["type"], read["seq"], read["ts"]) == (ev.AGENT, 1, "")
    diagnosis = read.get("diagnosis")
    assert diagnosis is None or all(isinstance(diagnosis[name], str) for name in ("state", "cause", "reason"))
    assert all(isinstance(each, str) for each in read.get("suggestions", []))


FIELDS = ("phase", "message", "alive", "window", "diagnosis", "suggestions", "raw", "error", "type", "seq", "ts", "v")
odd_lines = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(ODD), max_size=5).map(
    lambda said: json.dumps({"phase": "running"} | said).encode()
)


@given(pieces=st.lists(odd_lines | st.binary(max_size=60) | st.just(b"\n"), max_size=8))
@FEW
def test_any_bytes_leave_the_channel_open_and_the_next_update_is_read(pieces: list[bytes]) -> None:
    with line() as (ours, writes):
        for piece in [*pieces, b"\n", b'{"phase": "completed", "message": "after all"}\n']:
            view = memoryview(piece + b"\n")
            while view:
                view = view[os.write(writes, view[:30_000]) :]
                for said in ours.hear():
                    check(said)
                    last = said
        assert last["phase"] == "completed"
        assert ours.open


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_an_odd_value_in_any_field_is_recorded_soundly_or_left_out(value: Any) -> None:
    for name in FIELDS:
        said = agent_channel.said_of(json.dumps({"phase": "running", name: value}).encode())
        if said is not None:
            check(said)


def test_a_line_without_an_end_is_not_kept_and_the_next_one_is_heard() -> None:
    with line() as (ours, writes):
        for _ in range(40):
            os.write(writes, b"x" * 60_000)
            assert ours.hear() == []
            assert len(ours._rest) <= (1 << 20) + (1 << 16)
        os.write(writes, b'{"phase": "hidden"}\n{"phase": "running"}\n')
        assert [said["phase"] for said in ours.hear()] == ["running"]


def test_what_is_too_long_for_a_line_is_cut_and_not_lost() -> None:
    said = {"phase": "failed", "message": "m" * 900, "reply": "é" * 1500, "error": {"message": "x" * 3000}, "raw": "r"}
    read = json.loads(ev.to_line({"seq": 1, "ts": ""} | (event_of(said | {"alive": False}) or {})))
    assert read["type"] == ev.AGENT
    assert read["reply"].startswith("é" * 100)
    assert read["error"]["message"].startswith("x" * 100)


# --- the driver's end -------------------------------------------------------------------------------------------


def test_updates_beyond_the_allowance_are_refused_and_the_end_of_a_turn_has_its_own() -> None:
    allowance = Allowance(0.0)
    taken = sum(allowance.take("unknown", number / 1000) for number in range(50_000))
    assert 1000 <= taken <= 1000 + 5 * 50 + 1
    assert allowance.refused == 50_000 - taken
    assert allowance.take("completed", 50.0), "how a turn ended is recorded all the same"
    assert sum(allowance.take("failed", 50.0) for _ in range(1000)) <= 100
    assert allowance.take("unknown", 150.0), "and after a while everything is"


def test_updates_that_were_not_recorded_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, writes = os.pipe()
    monkeypatch.setenv(agent_channel.VARIABLE, str(writes))
    ours = KeeperChannel()
    written: list[dict[str, Any]] = []
    monkeypatch.setattr(ours, "_write", written.append)
    for _ in range(5000):
        ours.pass_on(AgentUpdate("unknown", "Something new.", alive=True))
    assert len(written) < 2000
    ours.pass_on(AgentUpdate("completed", "The turn is complete.", fields={"reply": "yes"}))
    assert written[-1]["reply"] == "yes"
    recorded = len([told for told in written if told.get("phase") == "unknown"])
    assert recorded + sum(told.get("missing", 0) for told in written) == 5000
    for fd in (reads, writes):
        os.close(fd)


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_any_value_that_a_driver_reports_is_written_as_bounded_json(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, writes = os.pipe()
    monkeypatch.setenv(agent_channel.VARIABLE, str(writes))
    ours = KeeperChannel()
    ours.tell("warning", "odd", what=value, deep={"a": [value]})
    os.close(writes)
    with open(reads, "rb") as file:
        data = file.read()
    assert len(data) < 60_000
    assert json.loads(data, parse_constant=pytest.fail)["message"] == "odd"
