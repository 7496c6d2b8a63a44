"""A newer format is read as far as possible and never written: a command that would have to refuses in one line."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of, over
from unhang.errors import StateError
from unhang.jobs import listing
from unhang.jobs.handle import Job
from unhang.store import files
from unhang.testing.liveness import RollCall


def _make_newer(job: Job, version: object = 2) -> dict[str, bytes]:
    record = json.loads(Path(job.place.job).read_text())
    Path(job.place.job).write_text(json.dumps(record | {"v": version, "newField": {"a": [1]}}))
    return _contents(job)


def _contents(job: Job) -> dict[str, bytes]:
    return {name: Path(job.place.path, name).read_bytes() for name in ("job.json", "events.ndjson", "stdout")}


def test_an_ended_job_of_a_newer_format_is_read(jobs: Jobs) -> None:
    job = over(jobs.begin("--", "sh", "-c", "echo out; exit 3"))
    before = _make_newer(job)
    assert jobs.said("status", job.id)["exitCode"] == 3
    assert jobs.said("result", job.id, code=3)["stdout"] == "out\n"
    assert jobs.call("wait", job.id).code == 3
    assert jobs.call("events", job.id).code == 0
    assert [row["status"] for row in jobs.said("ps", "--all")] == ["error"]
    assert _contents(job) == before


def test_an_ended_job_of_a_newer_format_is_not_removed(jobs: Jobs) -> None:
    job = over(jobs.begin("--", "true"))
    before = _make_newer(job)
    assert jobs.said("gc", "--count", "0")["removed"] == []
    assert _contents(job) == before


@pytest.mark.parametrize("version", [2, "2"])
def test_a_lost_job_of_a_newer_format_is_refused_for_writing_in_one_line(
    jobs: Jobs, roll: RollCall, version: object
) -> None:
    job = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    keeper, guard = keeper_of(job.place)
    guard.send(9)
    assert guard.wait_gone()
    keeper.send(9)
    assert keeper.wait_gone()
    good = jobs.begin("--", "true")
    good.wait()
    before = _make_newer(job, version)
    for command in ("status", "result", "events", "wait", "cancel"):
        line = jobs.refused(command, job.id)
        assert f"format {version}" in line
    assert _contents(job) == before
    # one such job hides no other, and is not called running
    rows = {row["jobId"]: (row["status"], row["phase"]) for row in jobs.said("ps", "--all")}
    assert rows == {good.id: ("success", "completed"), job.id: ("error", "lost")}
    assert jobs.call("doctor").code == 0
    assert _contents(job) == before
    assert roll.wait_empty()


def test_a_newer_index_is_not_written_and_hides_nothing(jobs: Jobs) -> None:
    job = over(jobs.begin("--", "true"))
    path = jobs.home / "index.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE future (a)")
        db.execute("PRAGMA user_version=2")
    db.close()
    before = path.read_bytes()
    for _ in range(2):
        assert [row["jobId"] for row in jobs.said("ps", "--all")] == [job.id]
    assert path.read_bytes() == before
    assert jobs.said("gc", "--count", "0")["removed"] == [job.id]
    assert path.read_bytes() == before


def test_fields_and_events_of_a_newer_writer_are_passed_over(jobs: Jobs) -> None:
    job = jobs.begin("--", "sh", "-c", "echo out")
    job.wait()
    lines = Path(job.place.events).read_bytes().splitlines(keepends=True)
    strange = {"seq": 2, "ts": "2026-01-01T00:00:00.000Z", "type": "future/thing", "phase": "odd", "message": "m"}
    events = [json.loads(lines[0]), strange, *(json.loads(line) | {"new": 1} for line in lines[1:])]
    numbered = [event | {"seq": number} for number, event in enumerate(events, 1)]
    Path(job.place.events).write_text("".join(json.dumps(event) + "\n" for event in numbered))
    assert check_log(job.place)[1]["type"] == "future/thing"
    assert job.result().ok
    assert job.result().stdout == "out\n"
    assert b"future/thing" in jobs.call("events", job.id).out


def test_what_is_written_says_its_version(jobs: Jobs, tmp_path: Path) -> None:
    job = over(jobs.begin("--", "true"))
    jobs.said("ps", "--all")
    assert json.loads(Path(job.place.job).read_text())["v"] == files.FORMAT == 1
    assert check_log(job.place)[0]["v"] == 1
    with sqlite3.connect(listing.index_path(str(jobs.home))) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    files.refuse_newer({"v": 1}, "x")
    with pytest.raises(StateError, match="format 3"):
        files.refuse_newer({"v": 3}, str(tmp_path))
    assert os.path.exists(job.place.path)
