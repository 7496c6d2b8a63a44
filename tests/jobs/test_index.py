"""The index is a cache: whatever happens to it, a listing shows what the job directories hold."""

from __future__ import annotations

import json
import os
import sqlite3
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import unhang
from tests.support.engine import wait_until
from tests.support.jobs import STILL, Jobs, actor, kill_with_guard
from unhang.jobs import listing
from unhang.keeper.journal import SHORT
from unhang.store import files
from unhang.testing.liveness import RollCall


def _three(jobs: Jobs) -> dict[str, str]:
    """Ended jobs: id → status."""
    lines = {"exit 0": "success", "exit 3": "error", "kill -9 $$": "error"}
    return {_ended(jobs, line): status for line, status in lines.items()}


def _ended(jobs: Jobs, line: str) -> str:
    job = jobs.begin("--shell", line)
    job.wait()
    return job.id


def _listed(jobs: Jobs) -> dict[str, str]:
    return {row["jobId"]: row["status"] for row in jobs.said("ps", "--all")}


def _truncate(path: Path) -> None:
    with sqlite3.connect(path) as db:  # everything into the one file, then the middle of it away
        db.execute("PRAGMA journal_mode=DELETE")
    db.close()
    os.truncate(path, path.stat().st_size // 2)


def _scramble(path: Path) -> None:
    """The header is whole, the pages are not."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    db.close()
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes(255 - byte for byte in data[200:]))


def _other_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE jobs (id TEXT)")
    db.close()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(os.urandom(9000)), id="garbage"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:100]), id="header only"),
        pytest.param(_truncate, id="truncated"),
        pytest.param(_scramble, id="scrambled"),
        pytest.param(_other_schema, id="other tables"),
    ],
)
def test_a_broken_index_is_made_anew_from_the_job_directories(jobs: Jobs, harm: object) -> None:
    expected = _three(jobs)
    assert _listed(jobs) == expected
    assert callable(harm)
    harm(jobs.home / "index.db")
    for _ in range(2):
        assert _listed(jobs) == expected
    assert jobs.call("gc").code == 0
    assert jobs.call("doctor").code == 0


def test_an_index_that_cannot_be_written_does_not_hide_the_jobs(jobs: Jobs) -> None:
    expected = _three(jobs)
    (jobs.home / "index.db").mkdir()
    assert _listed(jobs) == expected


@pytest.mark.parametrize("words", [("--hard", "auto"), ("--retry", "1", "--hard", "100")])
def test_a_history_that_cannot_be_read_keeps_no_job_from_running(jobs: Jobs, words: tuple[str, ...]) -> None:
    (jobs.home / "index.db").mkdir(parents=True)
    done = jobs.call("run", *words, "--", "true")
    assert (done.code, sum(b"index.db" in line for line in done.err.splitlines())) == (0, 1), "a warning of one line"
    result = jobs.json(*words, "--", "true")
    assert not result["limits"]["hardMs"]["source"].startswith("history")
    assert jobs.call("policy", "explain", "true", "--hard", "auto").code == 0


def test_a_locked_index_does_not_hide_the_jobs(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _three(jobs)
    _listed(jobs)
    monkeypatch.setattr("unhang.store.index._BUSY_MS", 50)
    holder = sqlite3.connect(jobs.home / "index.db", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        assert {row.id: row.status for row in listing.list_jobs(str(jobs.home))} == expected
    finally:
        holder.close()


def test_many_listings_at_once_agree(jobs: Jobs, roll: RollCall) -> None:
    expected = _three(jobs)
    running = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    (jobs.home / "index.db").unlink(missing_ok=True)
    listings = [jobs.finish(process) for process in [jobs.popen("ps", "--all", "--json") for _ in range(10)]]
    for done in listings:
        assert (done.code, done.err) == (0, b"")
        assert {row["jobId"]: row["status"] for row in json.loads(done.out)} == expected | {running.id: "running"}


def test_listing_shows_what_runs_and_with_all_what_has_ended_newest_first(jobs: Jobs, roll: RollCall) -> None:
    ended = jobs.begin("--label", "repo=web", "--label", "kind=test", "--", "sh", "-c", "exit 3")
    ended.wait()
    running = jobs.begin(*STILL, "--label", "repo=web", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    assert [row["jobId"] for row in jobs.said("ps")] == [running.id]
    assert [row["jobId"] for row in jobs.said("ps", "--all")] == [running.id, ended.id]
    row = jobs.said("ps", "--all", "--label", "kind=test")[0]
    assert (row["jobId"], row["exitCode"], row["phase"]) == (ended.id, 3, "failed")
    assert row["labels"] == {"repo": "web", "kind": "test"}
    assert row["command"] == "sh -c 'exit 3'"
    assert jobs.said("ps", "--all", "--label", "repo=other") == []
    assert jobs.call("ps", "-q", "--all").out.decode().split() == [running.id, ended.id]
    assert b"exit 3" in jobs.call("ps", "--all").out
    assert [job.id for job in unhang.list_jobs(all=True, labels={"repo": "web"})] == [running.id, ended.id]
    assert [job.id for job in unhang.list_jobs()] == [running.id]


def test_a_job_that_the_index_knows_as_running_is_looked_at_again(jobs: Jobs, roll: RollCall) -> None:
    job = jobs.begin(*STILL, "--", *actor("ignore_term", roll.path))
    roll.wait_for("leader")
    assert _listed(jobs) == {job.id: "running"}
    kill_with_guard(job.place)
    assert _listed(jobs) == {job.id: "error"}
    assert roll.wait_empty()


def test_a_home_without_jobs_lists_nothing_and_makes_nothing(jobs: Jobs) -> None:
    assert jobs.said("ps", "--all") == []
    assert jobs.said("gc")["removed"] == []
    assert not jobs.home.exists()


def test_words_of_a_command_cannot_act_on_the_terminal_of_a_listing(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "# \x1b[2J\x1b]0;title\x07\r\nexit 0")
    job.wait()
    for words in (("ps", "--all"), ("status", job.id), ("events", job.id)):
        out = jobs.call(*words).out
        assert b"\x1b" not in out
        assert b"\x07" not in out
        assert b"\r" not in out


def test_a_running_job_is_listed_with_its_phase_whether_its_view_is_on_disk_or_not(jobs: Jobs) -> None:
    """A short story is read itself; a longer one has a view, which is then kept up to date."""
    job = jobs.begin("--stall", "0.5", "--idle", "10m", "--shell", "exec sleep infinity")
    next(event for event in job.watch() if event.get("phase") == "stuck")
    assert not os.path.exists(job.place.status)
    assert [row["phase"] for row in jobs.said("ps")] == ["stuck"]
    for _ in range(SHORT):
        job.extend(hard=60)
    # an extension is answered a moment before it is recorded
    extended = (event for event in job.watch() if event.get("phase") == "extended" and event["asked"])
    last = list(islice(extended, SHORT))[-1]["seq"]
    assert last > SHORT

    def view() -> dict[str, Any]:
        return files.read_json(job.place.status) or {}

    # an event is there a moment before the view with it
    wait_until(lambda: view().get("seq") == last, "the view has the newest event")
    assert view()["phase"] == job.view().phase
    assert [row["phase"] for row in jobs.said("ps")] == [view()["phase"]]
    job.cancel()
    wait_until(lambda: view().get("status") == "cancelled", "it is written at the end, too")
