"""The appender, the reader and the repair of a log: numbers without a gap, cursors by bisection, any torn end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unhang.core import events as ev
from unhang.store import reader, recovery
from unhang.store.event_log import EventLog
from unhang.store.reader import EventReader


def written(path: Path, count: int, *, padding: int = 0) -> list[ev.Event]:
    log = EventLog(str(path), lambda: "2026-01-02T03:04:05.678Z")
    events = [log.append(ev.output("stdout", i + 1, i) | {"padding": "x" * (padding * (i % 7))}) for i in range(count)]
    log.close()
    return [event for event in events if event is not None]


def test_events_are_numbered_from_one_and_the_first_says_the_format(tmp_path: Path) -> None:
    events = written(tmp_path / "log", 5)
    assert [event["seq"] for event in events] == [1, 2, 3, 4, 5]
    assert [event.get("v") for event in events] == [ev.FORMAT, None, None, None, None]
    assert reader.read_all(str(tmp_path / "log")) == events
    assert reader.last_event(str(tmp_path / "log")) == events[-1]


def test_a_log_is_private(tmp_path: Path) -> None:
    written(tmp_path / "log", 1)
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("padding", [0, 100, 500], ids=["short lines", "mixed lines", "long lines"])
def test_a_cursor_found_by_bisection_is_the_one_a_scan_finds(tmp_path: Path, padding: int) -> None:
    count = 1500
    events = written(tmp_path / "log", count, padding=padding)
    assert (tmp_path / "log").stat().st_size > 4 * reader._SCAN
    for after in [*range(0, count, 37), 1, 2, count - 2, count - 1, count, count + 1, 10**9]:
        with EventReader(str(tmp_path / "log"), after_seq=after) as cursor:
            assert cursor.read_new() == events[after:], after


def test_a_reader_goes_on_where_it_stopped(tmp_path: Path) -> None:
    events = written(tmp_path / "log", 10)
    with EventReader(str(tmp_path / "log")) as cursor:
        assert cursor.read_new(3) == events[:3]
        assert cursor.read_new(3) == events[3:6]
        assert cursor.read_new() == events[6:]
        assert cursor.read_new() == []
        log = EventLog(str(tmp_path / "log"), lambda: "t", seq=10)
        more = log.append(ev.heartbeat("alive"))
        log.close()
        assert cursor.read_new() == [more]


def test_a_line_that_is_being_written_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    """Byte by byte, as a slow writer would."""
    whole = tmp_path / "whole"
    events = written(whole, 3)
    data = whole.read_bytes()
    slow = tmp_path / "slow"
    slow.touch()
    seen: list[ev.Event] = []
    with EventReader(str(slow)) as cursor, slow.open("ab", buffering=0) as writer:
        for i in range(len(data)):
            writer.write(data[i : i + 1])
            new = cursor.read_new()
            assert bool(new) == (data[i : i + 1] == b"\n")
            seen += new
    assert seen == events


def test_a_log_cut_at_every_byte_of_its_last_two_lines_is_repaired_to_whole_lines(tmp_path: Path) -> None:
    events = written(tmp_path / "log", 6)
    data = (tmp_path / "log").read_bytes()
    lines = data.splitlines(keepends=True)
    torn = tmp_path / "torn"
    for cut in range(len(data) - len(lines[-1]) - len(lines[-2]), len(data) + 1):
        torn.write_bytes(data[:cut])
        whole = data[:cut].count(b"\n")
        assert reader.read_all(str(torn)) == events[:whole]
        assert recovery.repair(str(torn)) == cut - len(b"".join(lines[:whole]))
        assert torn.read_bytes() == b"".join(lines[:whole])
        log = EventLog(str(torn), lambda: "t", seq=whole)
        log.append(ev.heartbeat("after"))
        log.close()
        assert [event["seq"] for event in reader.read_all(str(torn))] == list(range(1, whole + 2))


@pytest.mark.parametrize("zeros", [1, 4096, 20_000, 100_000])
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["no newline", "newline"])
def test_blocks_of_zeros_after_a_crash_of_the_machine_are_cut_off(tmp_path: Path, zeros: int, end: bytes) -> None:
    events = written(tmp_path / "log", 4)
    with (tmp_path / "log").open("ab") as file:
        file.write(b"\0" * zeros + end)
    recovery.repair(str(tmp_path / "log"))
    log = EventLog(str(tmp_path / "log"), lambda: "t", seq=4)
    log.append(ev.heartbeat("after"))
    log.close()
    found = reader.read_all(str(tmp_path / "log"))
    assert found[:4] == events
    assert [event["seq"] for event in found] == [1, 2, 3, 4, 5]


def test_a_log_of_nothing_but_rubbish_is_repaired_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"rubbish\n" * 10 + b"more")
    assert recovery.repair(str(tmp_path / "log")) == 84
    assert (tmp_path / "log").read_bytes() == b""


def test_a_log_that_is_not_there_needs_no_repair(tmp_path: Path) -> None:
    assert recovery.repair(str(tmp_path / "log")) == 0
    assert reader.read_all(str(tmp_path / "log")) == []
    assert reader.last_event(str(tmp_path / "log")) is None
    assert os.listdir(tmp_path) == []


def test_what_must_survive_is_not_read_before_its_keeper_says_that_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "log")
    written(tmp_path / "log", 3)
    log = EventLog(path, lambda: "2026-01-02T03:04:05.678Z", seq=3)
    log.append(ev.watchdog("warning", "soon"))
    log.append(ev.output("stdout", 1, 3))
    log.close()
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    with EventReader(path, synced_to=1) as told:
        assert [event["seq"] for event in told.read_new()] == [1, 2, 3]
        assert told.read_new() == []
        told.synced_to = 4
        assert [event["seq"] for event in told.read_new()] == [4, 5]
        assert synced == []
    with EventReader(path, synced_to=reader.EVERYTHING) as told:
        assert len(told.read_new()) == 5
        assert synced == []
    with EventReader(path) as untold:  # it is faster than the keeper's sync, perhaps, and makes one itself
        assert len(untold.read_new()) == 5
        assert len(synced) == 1
