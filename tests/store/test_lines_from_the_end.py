"""Reading a log from its end, whatever it holds."""

from __future__ import annotations

import os
import tempfile
import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core import events as ev
from unhang.store import reader
from unhang.store.recovery import repair

_LINES = st.lists(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")) | st.integers(4000, 9000).map(lambda n: b"x" * n),
    max_size=12,
)


@given(_LINES, st.binary(max_size=20).map(lambda rest: rest.replace(b"\n", b"")))
@settings(max_examples=200, deadline=None)
def test_every_whole_line_that_may_be_an_event_is_found_from_the_end(lines: list[bytes], torn: bytes) -> None:
    data = b"".join(line + b"\n" for line in lines) + torn
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        found = list(reader.lines_from_the_end(file.fileno(), len(data)))
    short = [line + b"\n" for line in lines if len(line) < ev.MAX_LINE]
    assert [data[start:end] for start, end in reversed(found)] == short


def test_a_log_filled_with_rubbish_is_cut_back_to_its_last_event_in_little_memory(tmp_path: object) -> None:
    path = f"{tmp_path}/events.ndjson"
    event = ev.to_line({"seq": 1, "ts": ""} | ev.started(1, "x", {}))
    with open(path, "wb") as file:
        file.write(event)
        for _ in range(64):
            file.write(b"\0" * (1 << 20))
    tracemalloc.start()
    try:
        assert repair(path) == 64 << 20
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert os.path.getsize(path) == len(event)


def test_an_event_behind_a_line_that_is_too_long_is_read(tmp_path: object) -> None:
    path = f"{tmp_path}/events.ndjson"
    first = ev.to_line({"seq": 1, "ts": ""} | ev.started(1, "x", {}))
    last = ev.to_line({"seq": 2, "ts": ""} | ev.exited("completed", "", {"status": "success"}))
    with open(path, "wb") as file:
        file.write(first + b"\0" * 200_000 + b"\n" + last)
    assert [event["seq"] for event in reader.read_all(path)] == [1, 2]
    found = reader.last_event(path)
    assert found is not None
    assert found["seq"] == 2


def test_a_hole_of_terabytes_costs_no_time_in_either_direction(tmp_path: object) -> None:
    path = f"{tmp_path}/events.ndjson"
    first = ev.to_line({"seq": 1, "ts": ""} | ev.started(1, "x", {}))
    last = ev.to_line({"seq": 2, "ts": ""} | ev.exited("completed", "", {"status": "success"}))
    with open(path, "wb") as file:
        file.write(first)
        file.seek(1 << 42)
        file.write(b"\n" + last)
        file.truncate(1 << 43)
    assert [event["seq"] for event in reader.read_all(path)] == [1, 2]
    assert repair(path) == (1 << 43) - (1 << 42) - 1 - len(last)
    os.truncate(path, 1 << 42)
    assert repair(path) == (1 << 42) - len(first)


def test_of_lines_that_are_no_new_events_only_so_many_are_read_to_find_some(tmp_path: object) -> None:
    path = f"{tmp_path}/events.ndjson"
    first = ev.to_line({"seq": 1, "ts": ""} | ev.started(1, "x", {}))
    with open(path, "wb") as file:
        file.write(first * 200_000)
    with reader.EventReader(path) as few, reader.EventReader(path) as every:
        assert len(few.read_new(1000)) == len(every.read_new()) == 1
        assert few.position < every.position // 10
