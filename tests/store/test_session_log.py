"""The stream of a session: many writers, one numbering."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.engine import wait_until
from unhang.core import events as ev
from unhang.errors import StateError
from unhang.store import session_log
from unhang.store.session_log import SessionLog, session_ids

ID = "a54c2f00-0000-4000-8000-000000000001"
EVENT = {"type": "hook", "phase": "tool", "message": "Bash", "method": "PreToolUse"}


def log(folder: Path, session: str = ID) -> SessionLog:
    return SessionLog(session, str(folder / "home"))


def test_events_are_numbered_stamped_and_read_back(tmp_path: Path) -> None:
    stream = log(tmp_path)
    assert [stream.append(EVENT), stream.append(EVENT | {"seq": 77})] == [1, 2]
    first, second = stream.read()
    assert first | EVENT == first
    assert (first["seq"], second["seq"], first["v"]) == (1, 2, ev.FORMAT)
    assert first["ts"].endswith("Z")
    assert "v" not in second


def test_a_reader_gets_what_is_new(tmp_path: Path) -> None:
    writer, reader = log(tmp_path), log(tmp_path)
    assert reader.read() == []
    for number in range(1, 6):
        writer.append(EVENT)
        assert [event["seq"] for event in reader.read(number - 1)] == [number]
    assert reader.read(5) == []
    assert [event["seq"] for event in reader.read(2)] == [3, 4, 5]
    assert [event["seq"] for event in reader.read()] == [1, 2, 3, 4, 5]


def test_reading_on_costs_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = log(tmp_path), log(tmp_path)
    for _ in range(300):
        writer.append(EVENT | {"error": "x" * 1000})
    assert len(reader.read()) == 300
    writer.append(EVENT)
    parsed: list[bytes] = []
    real = ev.from_line

    def counted(line: bytes) -> dict[str, object] | None:
        parsed.append(line)
        return real(line)

    monkeypatch.setattr(ev, "from_line", counted)
    assert [event["seq"] for event in reader.read(300)] == [301]
    assert len(parsed) == 1


@given(tail=st.binary(max_size=200).filter(lambda data: b"\n" not in data))
@settings(max_examples=60, deadline=None)
def test_a_torn_line_is_cut_off_and_the_numbers_go_on(tail: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    stream = log(tmp_path_factory.mktemp("torn"))
    stream.append(EVENT)
    with open(stream.path, "ab") as file:
        file.write(tail)
    assert len(stream.read()) == 1
    assert stream.append(EVENT) == 2
    lines = Path(stream.path).read_bytes().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2]


def test_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    with open(stream.path, "ab") as file:
        file.write(b"not ours\n" * 3000)
    assert stream.append(EVENT) == 2
    assert [event["seq"] for event in log(tmp_path).read()] == [1, 2]


def test_a_long_event_is_elided_and_a_line_is_never_longer_than_4_kib(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT | {"toolInput": {"command": "ä" * 9000}})
    (event,) = stream.read()
    assert (event["type"], event["elided"], event["method"]) == (ev.ELIDED, "hook", "PreToolUse")
    assert len(Path(stream.path).read_bytes()) <= ev.MAX_LINE


WRITER = """
import sys
from unhang.store.session_log import SessionLog
for number in range(int(sys.argv[3])):
    SessionLog(sys.argv[1], sys.argv[2]).append({"type": "hook", "phase": "tool", "message": sys.argv[4]})
"""


def test_many_writers_at_once_leave_no_gap(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER, ID, str(tmp_path / "home"), "40"]
    writers = [subprocess.Popen([*words, str(number)]) for number in range(6)]
    assert [writer.wait(60) for writer in writers] == [0] * 6
    events = log(tmp_path).read()
    assert [event["seq"] for event in events] == list(range(1, 241))
    assert sorted(event["message"] for event in events) == sorted(str(number) for number in range(6) for _ in range(40))


def test_a_lock_that_is_never_given_back_costs_no_event_and_no_reader_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    reader = log(tmp_path)
    assert [event["seq"] for event in reader.news()] == [1]
    monkeypatch.setattr(session_log, "PATIENCE", 0.05)
    with open(stream.path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert stream.append(EVENT) == 2
        assert stream.append(EVENT) == 3
        assert [event["seq"] for event in reader.news()] == [2, 3]
    assert stream.append(EVENT) == 4
    assert [event["seq"] for event in reader.news()] == [4]
    assert sorted(os.listdir(stream.folder)) == ["events.ndjson"]


def test_a_writer_that_was_stopped_with_the_lock_writes_its_line_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file has taken the place of the one it has locked: the line is written there, too."""
    stream, other = log(tmp_path), log(tmp_path)
    stream.append(EVENT)
    monkeypatch.setattr(session_log, "PATIENCE", 0.05)
    look_up = session_log._last_of

    def stopped(fd: int) -> tuple[int, int]:
        monkeypatch.setattr(session_log, "_last_of", look_up)
        assert other.append(EVENT | {"message": "hook"}) == 2
        return look_up(fd)

    monkeypatch.setattr(session_log, "_last_of", stopped)
    assert stream.append(EVENT | {"message": "late"}) == 3
    assert [(event["seq"], event["message"]) for event in stream.read()][1:] == [(2, "hook"), (3, "late")]


def test_a_stream_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    assert os.stat(stream.path).st_mode & 0o777 == 0o600
    for folder in (stream.home, os.path.dirname(stream.folder), stream.folder):
        assert os.stat(folder).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "-rf", "a b", "x" * 65, "a\0b", "ä"])
def test_a_session_id_that_could_be_a_path_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(StateError):
        log(tmp_path, name)
    assert not (tmp_path / "home").exists()


def test_a_planted_link_is_refused(tmp_path: Path) -> None:
    stream = log(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    os.makedirs(os.path.dirname(stream.folder), 0o700)
    os.chmod(stream.home, 0o700)
    os.symlink(elsewhere, stream.folder)
    with pytest.raises(StateError):
        stream.append(EVENT)
    assert list(elsewhere.iterdir()) == []
    os.unlink(stream.folder)
    os.mkdir(stream.folder, 0o700)
    os.symlink(elsewhere / "file", stream.path)
    with pytest.raises(StateError):
        stream.append(EVENT)
    assert list(elsewhere.iterdir()) == []


def test_every_session_is_listed_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert session_ids(str(home)) == []
    for session in ("b2", "a1"):
        log(tmp_path, session).append(EVENT)
    (home / "sessions" / "not a session").mkdir()
    (home / "sessions" / "file").touch()
    os.symlink(home / "sessions" / "a1", home / "sessions" / "link")
    assert session_ids(str(home)) == ["a1", "b2"]


def test_a_stream_that_was_removed_begins_again(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    stream.append(EVENT)
    assert len(stream.read()) == 2
    os.unlink(stream.path)
    os.rmdir(stream.folder)
    assert stream.read(2) == []
    assert stream.append(EVENT) == 1
    assert [event["seq"] for event in stream.read()] == [1]


def test_a_stream_that_a_writer_holds_is_not_removed(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    with open(stream.path, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not stream.remove()
    assert stream.remove()
    assert not os.path.exists(stream.folder)
    assert stream.append(EVENT) == 1


def test_a_writer_that_waited_while_it_was_removed_begins_a_new_one(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    held = os.open(stream.path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    words = [sys.executable, "-c", WRITER, ID, str(tmp_path / "home"), "1", "late"]
    writer = subprocess.Popen(words)
    wait_until(lambda: _has_open(writer.pid, stream.path), "the writer waits for the lock")
    os.unlink(stream.path)
    os.rmdir(stream.folder)
    os.close(held)
    assert writer.wait(60) == 0
    assert [(event["seq"], event["message"]) for event in stream.read()] == [(1, "late")]


def _has_open(pid: int, path: str) -> bool:
    try:
        return any(os.path.realpath(f"/proc/{pid}/fd/{fd}") == path for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False
