"""Finished runs: nothing is lost, the quantiles are right, and asking is quick."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhang.core.policy.learn import rank
from unhang.errors import StateError
from unhang.store.history import WINDOW, History, Run


def run(
    duration: float, silence: float = 0.1, status: str = "success", teaches: bool = True, command: str = "c"
) -> Run:
    reason = "exec_timeout" if status == "timeout" else None
    return Run(command, "/d", 1000.0 + duration, duration, silence, status, reason, teaches)


def _quantile(values: list[float], q: float) -> float:
    return sorted(values)[rank(len(values), q)]


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(str(tmp_path / "index.db"))


def test_no_history_is_no_file(history: History) -> None:
    assert history.profile("c", "/d") is None
    assert history.summary() == []
    assert history.last_statuses("c", "/d") == []
    assert not Path(history.path).exists()


def test_only_runs_that_may_teach_are_learnt_from(history: History) -> None:
    for value in (1.0, 2.0, 3.0):
        history.add(run(value))
    history.add(run(900.0, status="timeout", teaches=False))
    history.add(run(800.0, teaches=False))
    profile = history.profile("c", "/d")
    assert profile is not None
    assert (profile.runs, profile.duration, profile.median) == (3, 3.0, 2.0)
    assert history.profile("c", "/other") is None
    assert history.last_statuses("c", "/d") == ["success", "timeout", "success"]


def test_other_tables_of_the_database_are_left_alone(history: History) -> None:
    with sqlite3.connect(history.path) as db:
        db.execute("CREATE TABLE jobs (id TEXT)")
    assert history.profile("c", "/d") is None
    history.add(run(1.0))
    assert history.profile("c", "/d") is not None
    with sqlite3.connect(history.path) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names == {"jobs", "history_runs", "history_meta", "history_commands"}


def test_a_newer_format_is_read_but_not_written(history: History) -> None:
    history.add(run(1.0))
    with sqlite3.connect(history.path) as db:
        db.execute("UPDATE history_meta SET value = '2'")
    assert history.profile("c", "/d") is not None
    with pytest.raises(StateError, match="newer"):
        history.add(run(2.0))


def test_a_file_that_is_no_database_is_an_error(history: History) -> None:
    Path(history.path).write_bytes(b"not a database, certainly not one" * 100)
    with pytest.raises(StateError, match="history"):
        history.add(run(1.0))
    with pytest.raises(StateError, match="history"):
        history.profile("c", "/d")


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e4)), min_size=1, max_size=30),
    st.sampled_from([0.5, 0.9, 0.95, 1.0]),
)
@settings(max_examples=20, deadline=None)
def test_the_quantiles_are_those_of_a_sorted_list(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[float, float]], q: float
) -> None:
    history = History(str(tmp_path_factory.mktemp("h") / "index.db"))
    for duration, silence in runs:
        history.add(run(duration, silence))
    profile = history.profile("c", "/d", q)
    assert profile is not None
    assert profile.runs == len(runs)
    assert profile.duration == _quantile([duration for duration, _ in runs], q)
    assert profile.silence == _quantile([silence for _, silence in runs], q)


def test_the_summary_counts_runs_timeouts_and_quantiles(history: History) -> None:
    for value in range(1, 21):
        history.add(run(float(value), silence=value / 2))
    history.add(run(99.0, silence=50.0, status="timeout", teaches=False))
    history.add(Run("idle", "/d", 1.0, 5.0, 4.0, "timeout", "no_output_timeout", False))
    newest, older = history.summary()
    assert (newest.command, newest.runs, newest.succeeded, newest.idle_timeouts, newest.median) == (
        "idle",
        1,
        0,
        1,
        None,
    )
    assert newest.p95 is None
    assert (older.runs, older.succeeded, older.median, older.p95) == (21, 20, 10.0, 19.0)
    assert (older.longest, older.longest_silence, older.hard_timeouts) == (99.0, 50.0, 1)
    assert older.recent == tuple(float(value) for value in range(1, 21))
    assert [item.command for item in history.summary("dle")] == ["idle"]
    assert history.summary(directory="/nowhere") == []
    assert len(history.summary(limit=1)) == 1


def test_names_that_are_no_utf8_are_kept_apart(history: History) -> None:
    for name in ("/d\udcff", "/d\udcfe"):
        history.add(run(1.0)._replace(command="c\udcff", directory=name))
    profile = history.profile("c\udcff", "/d\udcff")
    assert profile is not None
    assert profile.runs == 1
    assert history.last_statuses("c\udcff", "/d\udcfe") == ["success"]
    assert len(history.summary("c\udcff")) == 2


WRITER = """
import sys
from unhang.store.history import History, Run
path, name = sys.argv[1:]
history = History(path)
sys.stdin.read()
for number in range(100):
    history.add(Run(name, "/d", 0.0, float(number), 0.0, "success"))
"""


def test_concurrent_writers_lose_nothing(history: History) -> None:
    """Six processes begin at once, on a file that is not there yet."""
    command = [sys.executable, "-c", WRITER, history.path]
    writers = [subprocess.Popen([*command, f"w{index}"], stdin=subprocess.PIPE) for index in range(6)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0] * 6
    for index in range(6):
        profile = history.profile(f"w{index}", "/d", 1.0)
        assert profile is not None
        assert (profile.runs, profile.duration) == (100, 99.0)


def test_asking_does_not_take_more_work_with_every_run(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is counted in hundreds of steps of SQLite's machine; `make bench` judges the time."""
    history.add(run(1.0))
    history.add_many(
        Run(f"command {i % 50}", "/d", float(i), float(i % 997), float(i % 13), "success") for i in range(100_000)
    )
    steps: list[None] = []
    connect = sqlite3.connect

    def counted(*args: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **options)
        db.set_progress_handler(lambda: steps.append(None), 100)
        return db

    monkeypatch.setattr(sqlite3, "connect", counted)
    profile = history.profile("command 7", "/d")
    assert profile is not None
    assert profile.runs == WINDOW
    assert profile.duration == _quantile([float(i % 997) for i in range(7, 100_000, 50)][-WINDOW:], 0.95)
    asked = len(steps)
    assert 0 < asked < 200
    assert len(history.summary()) == 20
    assert len(steps) - asked < 2000  # looking at every run would take five thousand and more
    assert history.summary("command 7")[0].runs == 2000
    history.add(run(3.0))
    assert history.last_statuses("c", "/d") == ["success", "success"]
