"""One odd record, event or row costs its own line: every command that reads goes on, in one line, and so do the lists.

In this process, through the command line's own entry. Ending what is left of a lost job is switched off: what is odd
here is also what a sweep would look for.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings

from tests.support import odd
from tests.support.engine import Engine
from unhang.core import values
from unhang.faces.cli.main import run
from unhang.faces.mcp.output_schemas import JobResult, ListedJob
from unhang.faces.mcp.result import result_of
from unhang.faces.mcp.schema import schema_of
from unhang.faces.mcp.settings import Settings
from unhang.faces.mcp.text import text_of_event, text_of_result
from unhang.jobs import listing, reconcile
from unhang.jobs.handle import Job
from unhang.jobs.progress import progress_line
from unhang.store.index import Index, Row
from unhang.store.layout import JobDir

_ONE_AT_A_TIME = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
GOOD, ODD = "g00d000000", "0dd0000000"
_CODES = {0, 1, 2, 3, 7, 124, 125, 126, 127, 130, 137, 143}
_LISTS: tuple[tuple[str, ...], ...] = (
    ("ps",),
    ("ps", "-a"),
    ("ps", "-a", "--json"),
    ("ps", "-aq"),
    ("ps", "-a", "--label", "k=v"),
    ("history",),
)
_READING: tuple[tuple[str, ...], ...] = (
    *(("status", ODD), ("status", ODD, "--json"), ("events", ODD), ("events", ODD, "--json"), ("result", ODD)),
    *(("result", ODD, "--json"), ("logs", ODD), ("logs", ODD, "--tail", "3"), ("wait", ODD, "--timeout", "0.1")),
    *(("wait", ODD, "--json", "--timeout", "0.1"), ("events", ODD, "--since", "2026-01-02T03:04:05Z")),
    *(("diagnose", ODD), ("extend", ODD, "--hard", "3"), ("send", ODD, "x"), ("history", "--json")),
    *(("gc", "--age", "1000d", "--json"), ("cancel", ODD, "--json")),
)


class Said:
    """What one command said, with streams as a shell gives them."""

    def __init__(self, *words: str) -> None:
        streams = sys.stdout, sys.stderr
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict", newline="") for _ in range(2))
        sys.stdout, sys.stderr = out, err
        talk = os.dup(2)  # notices go to the descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            self.code = run(list(words))
            for stream in (out, err):
                stream.flush()
            self.out, self.err = out.buffer.getvalue(), err.buffer.getvalue()
        finally:
            sys.stdout, sys.stderr = streams
            os.dup2(talk, 2)
            for fd in (talk, null):
                os.close(fd)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, bytes]]]:
    """The files of two real jobs that have ended: one that succeeded, one that timed out with something to tell."""
    engine = Engine(tmp_path_factory.mktemp("templates"))
    assert engine.run("--label", "k=v", "--", "echo", "hi").code == 0
    good = engine.job()
    line = "echo begun; sleep 600"
    assert engine.run("--stall", "0.2", "--hard", "1", "--warn", "0.2", "--shell", line).code == 124
    [bad] = [place for place in engine.jobs() if place.id != good.id]
    yield {
        GOOD: {path.name: path.read_bytes() for path in Path(good.path).iterdir()},
        ODD: {path.name: path.read_bytes() for path in Path(bad.path).iterdir()},
    }
    engine.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNHANG_HOME", str(tmp_path / "odd"))
    monkeypatch.setattr(reconcile, "sweep", lambda *_: ([], []))
    return tmp_path / "odd"


def _lay_out(home: Path, templates: dict[str, dict[str, bytes]], changed: dict[str, bytes]) -> None:
    shutil.rmtree(home, ignore_errors=True)
    for job, files in templates.items():
        folder = home / "jobs" / job
        folder.mkdir(parents=True, mode=0o700)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    for name, data in changed.items():
        (home / "jobs" / ODD / name).write_bytes(data)
    home.chmod(0o700)
    (home / "jobs").chmod(0o700)


def _check(words: tuple[str, ...], said: Said) -> None:
    assert said.code in _CODES or words[0] in ("result", "wait"), (words, said.code, said.err)
    text = said.out.decode() + said.err.decode()
    if "--json" in words:
        for line in said.out.decode().splitlines():
            json.loads(line, parse_constant=pytest.fail)
    elif words[0] not in ("logs", "result"):
        assert all(line.isprintable() for line in text.split("\n")), (words, text)
    assert len(said.err.splitlines()) <= 1
    assert b"Traceback" not in said.err


def _everything_goes_on(home: Path) -> None:
    for words in _LISTS:
        said = Said(*words)
        _check(words, said)
        if "-a" in words or "-aq" in words:
            assert said.out.count(GOOD.encode()) == 1, (words, said.out, said.err)
            assert said.out.count(ODD.encode()) <= 1 or "--json" in words
    _a_model_is_answered(home)
    for words in _READING:
        _check(words, Said(*words))
    assert (home / "jobs" / GOOD).is_dir()


def _a_model_is_answered(home: Path) -> None:
    """As the MCP tools answer: an object of their schema, and a text."""
    job = Job(JobDir(str(home), ODD))
    shown = result_of(job, Settings())
    jsonschema.validate(values.for_json(shown), schema_of(JobResult))
    for line in text_of_result(shown).split("\n"):
        assert line.isprintable()
    for event in job.events():
        assert text_of_event(event).isprintable()
    for row in listing.list_jobs(str(home)):
        shown = listing.row_json(str(home), row)
        texts = {name: values.for_json(shown[name]) for name in ("command", "cwd", "labels")}
        jsonschema.validate(shown | texts, schema_of(ListedJob))
    assert isinstance(progress_line(job, job.view()), str)


@pytest.mark.parametrize("name", ["job.json", "events.ndjson", "status.json"])
def test_every_command_goes_on_beside_one_odd_file(
    templates: dict[str, dict[str, bytes]], home: Path, name: str
) -> None:
    @settings(max_examples=40, deadline=None, suppress_health_check=_ONE_AT_A_TIME)
    @given(odd.files(templates[ODD][name]))
    def check(data: bytes) -> None:
        _lay_out(home, templates, {name: data})
        _everything_goes_on(home)

    check()


@pytest.mark.parametrize("value", odd.SEEDS, ids=lambda value: ascii(value)[:20])
def test_every_command_goes_on_beside_each_odd_value_in_the_record_of_a_job(
    templates: dict[str, dict[str, bytes]], home: Path, value: Any
) -> None:
    """The same odd value everywhere at once, in the record and in every event."""
    job = json.loads(templates[ODD]["job.json"])
    job = dict.fromkeys(job, value) | {"v": 1}
    events = [json.loads(line) for line in templates[ODD]["events.ndjson"].splitlines()]
    kept = ("seq", "type")
    events = [{name: old if name in kept else value for name, old in event.items()} for event in events]
    log = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    _lay_out(home, templates, {"job.json": json.dumps(job).encode(), "events.ndjson": log})
    _everything_goes_on(home)


@pytest.mark.parametrize("name", ["job.json", "status.json", "stdout"])
def test_a_folder_in_the_place_of_a_file_costs_one_line(
    templates: dict[str, dict[str, bytes]], home: Path, name: str
) -> None:
    _lay_out(home, templates, {})
    (home / "jobs" / ODD / name).unlink()
    (home / "jobs" / ODD / name).mkdir()
    for words in _LISTS:
        assert GOOD.encode() in Said(*words).out or words[0] == "history" or "-a" not in words


_COLUMN = st.sampled_from(Row.__match_args__)
_STORED = (
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.binary(max_size=20) | st.text(max_size=20)
)


def test_every_list_goes_on_beside_an_odd_row(templates: dict[str, dict[str, bytes]], home: Path) -> None:
    _lay_out(home, templates, {})
    Said("ps", "-a")
    database = (home / "index.db").read_bytes()

    @settings(max_examples=60, deadline=None, suppress_health_check=_ONE_AT_A_TIME)
    @given(st.dictionaries(_COLUMN, _STORED, min_size=1, max_size=4))
    def check(columns: dict[str, Any]) -> None:
        for path in home.glob("index.db*"):
            path.unlink()
        (home / "index.db").write_bytes(database)
        with sqlite3.connect(home / "index.db") as db:
            for name, value in columns.items():
                db.execute(f"UPDATE OR IGNORE jobs SET {name} = ? WHERE id = ?", (value, ODD))
                db.execute(
                    "UPDATE OR IGNORE history_runs SET duration = ?, status = ?, directory = ?", (value, value, value)
                )
                db.execute("UPDATE OR IGNORE history_commands SET runs = ?, last_at = ?, longest = ?", (value,) * 3)
        db.close()
        for words in (*_LISTS, ("gc", "--age", "1000d"), ("history", "--json")):
            said = Said(*words)
            _check(words, said)
            assert GOOD.encode() in said.out or words[0] != "ps" or "-a" not in words

    check()


def test_a_text_that_is_no_unicode_comes_back_from_the_index_as_it_was(tmp_path: Path) -> None:
    names = ["M\udcfcller", "\ud800", "plain", "é", "a\0b", ""]
    for name in names:
        row = Row("abc", "2026", name, name, {name: name}, "command", "success", name, None, None, 3, 5, True)
        with Index(str(tmp_path / "index.db")) as index:
            index.refresh([], lambda _: None)
            index.refresh(["abc"], lambda _, row=row: row)  # type: ignore[misc]
            [back] = index.rows()
        assert back == row.replace(command=name or "?")


def test_a_file_name_that_is_no_utf8_breaks_nothing(home: Path, tmp_path: Path) -> None:
    """As in `unhang run -- cat Müller.txt` of a latin-1 disk, in such a directory, with such a label."""
    engine = Engine(tmp_path)
    engine.env["UNHANG_HOME"] = str(home)
    folder = os.fsencode(tmp_path) + b"/M\xfcller"
    os.mkdir(folder)
    words = [*(os.fsencode(word) for word in engine.command("run", "--label")), b"k=\xff", b"--", b"echo", b"\xe4\xff"]
    for _ in range(2):
        subprocess.run(words, cwd=folder, env=engine.env, capture_output=True, check=True)
    shown = json.loads(Said("ps", "-a", "--json").out)
    assert [row["command"] for row in shown] == ["echo '\\xe4\\xff'"] * 2
    assert {row["cwd"].rpartition("/")[2] for row in shown} == {"M\\xfcller"}
    assert shown[0]["labels"] == {"k": "\\xff"}
    place = JobDir(str(home), shown[0]["jobId"])
    assert os.fsencode(listing.read_row(place).cwd) == folder  # type: ignore[union-attr]
    assert json.loads(Said("events", place.id, "--json").out.splitlines()[0])["message"].endswith("\\xe4\\xff'")
    assert Said("result", place.id).out == b"\xe4\xff\n", "data stays as it is"
    assert Said("logs", place.id).out == b"\xe4\xff\n"
    for words_ in (("status", place.id), ("history",), ("doctor",)):
        _check(words_, Said(*words_))
    assert Said("gc", "--age", "0").out.startswith(b"2 ")
