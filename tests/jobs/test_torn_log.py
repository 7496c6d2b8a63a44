"""A log may end anywhere after a crash: readers pass over what is torn, recovery cuts it off and records the end."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.support.jobs import Jobs, check_log, over
from unhang.core import events as ev
from unhang.jobs.results import view_of
from unhang.procs import clock
from unhang.store import files, reader, recovery
from unhang.store.event_log import EventLog
from unhang.store.layout import JobDir
from unhang.testing.liveness import PATIENCE


@pytest.fixture
def ended(jobs: Jobs) -> JobDir:
    """A real job that has ended, as if its keeper had died with this boot's end."""
    job = over(jobs.begin("--", "sh", "-c", "echo out; exit 3"))
    assert job.wait().exit_code == 3
    record = job.spec
    record["keeper"] |= {"boot": "another"}
    Path(job.place.job).write_text(json.dumps(record))
    return job.place


def _copy(original: JobDir, number: int, log: bytes) -> JobDir:
    place = JobDir(original.home, f"c0py{number}")
    shutil.copytree(original.path, place.path, ignore=shutil.ignore_patterns("control", "notify", "*.new"))
    Path(place.events).write_bytes(log)
    return place


def test_a_log_cut_at_every_byte_of_its_last_two_records_is_readable_and_repaired(jobs: Jobs, ended: JobDir) -> None:
    whole = Path(ended.events).read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) >= 3
    first_cut = len(whole) - len(lines[-1]) - len(lines[-2])
    for cut in range(first_cut, len(whole)):
        place = _copy(ended, cut, whole[:cut])
        kept = whole[: whole.rfind(b"\n", 0, cut) + 1]
        expected = [json.loads(line) for line in kept.splitlines()]
        # a reader sees the whole lines, and no end
        assert reader.read_all(place.events) == expected
        assert reader.last_event(place.events) == expected[-1]
        view = view_of(place)
        assert (view.seq, view.ended, view.status) == (len(expected), False, "running")
        # whoever asks for its state repairs it, once
        assert jobs.handle(place.id).status()["phase"] == "lost"
        events = check_log(place)
        torn = cut - len(kept)
        assert events[: len(expected)] == expected
        notes = [event["bytes"] for event in events if event["type"] == "store"]
        assert notes == ([torn] if torn else [])
        assert len(events) == len(expected) + len(notes) + 1
        repaired = Path(place.events).read_bytes()
        assert jobs.handle(place.id).ended()
        assert Path(place.events).read_bytes() == repaired
        shutil.rmtree(place.path)


def test_two_who_find_a_loss_at_the_same_time_record_it_once(ended: JobDir) -> None:
    """The second comes in the middle of the first's writing, and has to wait for it."""
    lines = Path(ended.events).read_bytes().splitlines(keepends=True)
    Path(ended.events).write_bytes(b"".join(lines[:-1]))
    recorded: list[bool] = []

    def second() -> None:
        recorded.append(recovery.record_loss(ended, [], how="second", stamp=clock.now))

    thread = threading.Thread(target=second)

    def stamp() -> str:
        thread.start()
        thread.join(0.3)
        assert recorded == [], "the second did not wait"
        return clock.now()

    assert recovery.record_loss(ended, [], how="first", stamp=stamp) is True
    thread.join(PATIENCE)
    assert recorded == [False]
    assert "first" in check_log(ended)[-1]["message"]


def test_a_whole_log_is_left_as_it_is(jobs: Jobs, ended: JobDir) -> None:
    whole = Path(ended.events).read_bytes()
    assert recovery.repair(ended.events) == 0
    assert recovery.record_loss(ended, [], how="no", stamp=clock.now) is False
    assert jobs.handle(ended.id).status()["phase"] == "failed"
    assert Path(ended.events).read_bytes() == whole


@pytest.mark.parametrize(
    "rest",
    [
        b"\0" * 10,
        b"\0" * 3000 + b"\n",
        b"\0" * 100_000,
        b"\n" * 50_000,
        b"{}\n" * 9000,
        b"not json\n",
        b'{"seq":"3","type":"output"}\n',
        b'{"seq":3',
        b"\xff\xfe\n" * 20_000 + b"half",
        b"[" * 30_000 + b"\n",
    ],
    ids=lambda rest: f"{len(rest)} bytes of {rest[:8]!r}",
)
def test_nonsense_after_the_last_record_is_cut_off_however_long_it_is(jobs: Jobs, ended: JobDir, rest: bytes) -> None:
    """A crash of the machine leaves blocks of zeros; a broken disk leaves anything."""
    first, second = Path(ended.events).read_bytes().splitlines(keepends=True)[:2]
    Path(ended.events).write_bytes(first + second + rest)
    assert [event["seq"] for event in reader.read_all(ended.events)] == [1, 2]
    assert jobs.handle(ended.id).status()["phase"] == "lost"
    events = check_log(ended)
    assert [event["type"] for event in events[2:]] == ["store", "job/exited"]
    assert events[2]["bytes"] == len(rest)


@pytest.mark.parametrize("log", [b"", b"{", b"\0" * 5000])
def test_a_log_without_one_whole_record_is_begun_anew(jobs: Jobs, ended: JobDir, log: bytes) -> None:
    Path(ended.events).write_bytes(log)
    assert jobs.handle(ended.id).status()["phase"] == "lost"
    assert check_log(ended)[-1]["seq"] == (2 if log else 1)


def test_a_job_whose_log_is_missing_altogether_is_lost(jobs: Jobs, ended: JobDir) -> None:
    os.unlink(ended.events)
    assert jobs.said("status", ended.id)["phase"] == "lost"
    assert len(check_log(ended)) == 1


def test_broken_caches_change_nothing(jobs: Jobs, ended: JobDir) -> None:
    """status.json is one; the truth is in the events."""
    for garbage in (b"", b"{", b"\0" * 100, b"[]", b'{"v":1,"phase":"running","status":"running"}'):
        Path(ended.status).write_bytes(garbage)
        assert jobs.handle(ended.id).status()["phase"] == "failed"
        assert [row["phase"] for row in jobs.said("ps", "--all")] == ["failed"]
        os.unlink(jobs.home / "index.db")


def test_events_longer_than_a_line_may_be_are_elided_and_still_numbered(ended: JobDir) -> None:
    path = f"{ended.path}/more"
    log = EventLog(path, clock.now)
    log.append({"type": ev.AGENT, "phase": "running", "message": "m", "method": "x", "raw": "y" * 9000})
    log.append({"type": ev.AGENT, "phase": "running", "message": "m" * 9000, "method": "x"})
    log.append(ev.output("stdout", 1, 0))
    log.append_last(ev.exited("failed", "é" * 9000, {"status": "error", "exitCode": 3, "leftovers": ["z" * 500] * 50}))
    log.close()
    lines = Path(path).read_bytes().splitlines(keepends=True)
    assert max(map(len, lines)) <= ev.MAX_LINE
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == [1, 2, 3, 4]
    assert events[0]["rawCut"] is True
    assert (events[1]["type"], events[1]["elided"], events[1]["method"]) == ("oversize-event-elided", "agent", "x")
    assert (events[3]["type"], events[3]["exitCode"], events[3]["status"]) == ("job/exited", 3, "error")


def test_a_small_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = str(tmp_path / "status.json")
    files.write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        files.write_json(path, {"a": object()})
    assert files.read_json(path) == {"v": 1, "a": 1}
