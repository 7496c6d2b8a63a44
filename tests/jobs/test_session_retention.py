"""`unhang gc` and the streams of sessions."""

from __future__ import annotations

import os
from typing import Any

from tests.support.jobs import Jobs
from unhang.procs import identity
from unhang.store.session_log import SessionLog, session_ids

OLD = 40 * 86400
EVENT: dict[str, Any] = {"type": "hook", "phase": "idle", "message": "Stop", "method": "Stop"}


def stream(jobs: Jobs, name: str, age: float, **fields: Any) -> SessionLog:
    log = SessionLog(name, str(jobs.home))
    log.append(EVENT | fields)
    now = os.stat(log.path).st_mtime
    os.utime(log.path, (now - age, now - age))
    return log


def test_old_streams_are_let_go_and_new_ones_stay(jobs: Jobs) -> None:
    stream(jobs, "old", OLD)
    stream(jobs, "new", 60)
    assert jobs.said("gc")["sessions"] == ["old"]
    assert session_ids(str(jobs.home)) == ["new"]


def test_the_stream_of_a_session_that_lives_stays_however_old_it_is(jobs: Jobs) -> None:
    start = identity.start_time(os.getpid())
    stream(jobs, "alive", OLD, pid=os.getpid(), procStart=start)
    stream(jobs, "recycled", OLD, pid=os.getpid(), procStart="1")
    assert jobs.said("gc")["sessions"] == ["recycled"]


def test_the_number_of_session_streams_is_bounded(jobs: Jobs) -> None:
    for number in range(5):
        stream(jobs, f"s{number}", 60 * number)
    assert sorted(jobs.said("gc", "--count", "2")["sessions"]) == ["s2", "s3", "s4"]


def test_links_planted_beside_session_streams_are_not_followed(jobs: Jobs) -> None:
    log = stream(jobs, "old", OLD)
    keep = jobs.folder / "keep"
    keep.mkdir()
    (keep / "file").touch()
    os.symlink(keep, f"{log.folder}/link")
    os.symlink(keep, jobs.home / "sessions" / "linked")
    assert jobs.said("gc")["sessions"] == ["old"]
    assert (keep / "file").exists()
