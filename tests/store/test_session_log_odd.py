"""A session's stream with foreign lines in it, or a pipe or a link in its place: no call waits and no event is lost."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from unhang.core import events as ev
from unhang.core.session_events import HOOK
from unhang.errors import StateError
from unhang.store import session_log
from unhang.store.session_log import SessionLog, session_ids

ID = "a54c2f00-0000-4000-8000-000000000001"
EVENT = {"type": HOOK, "phase": "tool", "message": "Bash", "pid": 4}
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 10**17, 10**400, 1.5, float("nan"), "x", "\ud800", [], {}, [[1]]]
)
foreign = (
    st.dictionaries(st.sampled_from(["seq", "type", "ts", "pid", "phase"]), odd).map(lambda v: json.dumps(v).encode())
    | st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))
    | st.sampled_from([b"[" * 3000, b"{" * 70_000, b"x" * 200_000, b"\xff\xfe", b"9" * 5000, b""])
)


def log(folder: Path) -> SessionLog:
    return SessionLog(ID, str(folder / "home"))


@given(lines=st.lists(foreign, min_size=1, max_size=6), torn=st.binary(max_size=30))
@FEW
def test_foreign_lines_cost_no_event_of_ours(
    lines: list[bytes], torn: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    writer, reader = log(folder), log(folder)
    ours = 0
    for line in lines:
        writer.append(EVENT | {"number": ours})
        ours += 1
        with open(writer.path, "ab") as file:
            file.write(line + b"\n")
    with open(writer.path, "ab") as file:
        file.write(torn.replace(b"\n", b""))
    writer.append(EVENT | {"number": ours})
    found = [event["number"] for event in reader.news() if "number" in event]
    assert found == list(range(ours + 1))
    writer.append(EVENT | {"number": ours + 1})
    assert [event["number"] for event in reader.news()] == [ours + 1]
    assert (reader.last(HOOK) or {})["number"] == ours + 1
    for event in log(folder).events():
        assert type(event["seq"]) is int
        assert isinstance(event["type"], str)


def test_of_a_long_stream_only_the_end_is_read(tmp_path: Path) -> None:
    writer = log(tmp_path)
    for number in range(400):
        writer.append(EVENT | {"number": number, "pad": "x" * 900})
    found = [event["number"] for event in log(tmp_path).news(100_000)]
    assert found == list(range(found[0], 400))
    assert 50 < len(found) < 120
    assert len(list(log(tmp_path).news())) == 400


def test_a_stream_that_was_filled_by_another_program_is_refused_in_constant_memory(tmp_path: Path) -> None:
    stream = log(tmp_path)
    stream.append(EVENT)
    os.truncate(stream.path, 1 << 40)  # sparse: a terabyte of nothing
    tracemalloc.start()
    try:
        with pytest.raises(StateError):
            stream.append(EVENT)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert os.stat(stream.path).st_size == 1 << 40
    os.truncate(stream.path, 2 << 20)
    assert stream.append(EVENT) == 2


PLANTED = ["fifo", "link", "folder", "dangling"]


def planted(kind: str, path: str, elsewhere: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            os.mkdir(path)
            Path(path, "in it").touch()
        case "link":
            elsewhere.write_bytes(ev.to_line({"seq": 1, "ts": ""} | EVENT))
            os.symlink(elsewhere, path)
        case _:
            os.symlink(elsewhere, path)


def in_time(work: Any) -> Any:
    """What waits for the other end of a pipe never comes back."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it waits"
    return found[0]


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_no_regular_file_is_neither_read_nor_written_nor_waited_for(kind: str, tmp_path: Path) -> None:
    stream, elsewhere = log(tmp_path), tmp_path / "elsewhere"
    stream.append(EVENT)
    os.unlink(stream.path)
    planted(kind, stream.path, elsewhere)
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    assert isinstance(in_time(lambda: stream.append(EVENT)), StateError)
    assert isinstance(in_time(stream.read), StateError)
    assert in_time(lambda: stream.last(HOOK)) is None
    assert session_ids(stream.home) == [ID]
    assert in_time(stream.remove) is True, "it is no stream: it goes with its folder"
    assert not os.path.lexists(stream.folder)
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before


def test_a_folder_of_streams_that_cannot_be_listed_is_a_state_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / session_log.SESSIONS).touch()
    with pytest.raises(StateError):
        session_ids(str(home))
