"""Old jobs are let go by age, number and size; a running one never, and nothing is ever half gone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unhang
from tests.jobs.harness import STILL, Jobs, actor, check_log, wait_until
from unhang.core.retention import Ended, Keep, choose
from unhang.jobs import listing, maintenance
from unhang.jobs.handle import Job
from unhang.store.layout import JobDir
from unhang.testing.liveness import RollCall

_JOBS = st.lists(
    st.builds(Ended, st.text("abc", min_size=4, max_size=8), st.floats(0, 1000), st.integers(0, 100)),
    unique_by=lambda job: job.id,
    max_size=30,
)
_KEEP = st.builds(
    Keep,
    age=st.none() | st.floats(0, 1000),
    count=st.none() | st.integers(0, 30),
    bytes=st.none() | st.integers(0, 2000),
)


@given(_JOBS, _KEEP, st.floats(1000, 3000))
def test_what_is_kept_is_within_every_bound_and_nothing_is_let_go_without_one(
    jobs: list[Ended], keep: Keep, now: float
) -> None:
    gone = choose(jobs, keep, now)
    kept = [job for job in jobs if job.id not in gone]
    assert len(set(gone)) == len(gone)
    assert set(gone) <= {job.id for job in jobs}
    assert keep.count is None or len(kept) <= keep.count
    assert keep.bytes is None or sum(job.bytes for job in kept) <= keep.bytes
    assert keep.age is None or all(now - job.ended <= keep.age for job in kept)
    if keep.age is None:  # the newest are kept: nobody who stays is older than one who goes for number or size
        newest_gone = max((job.ended for job in jobs if job.id in gone), default=-1.0)
        assert all(job.ended >= newest_gone for job in kept)
    if keep == Keep(None, None, None):
        assert gone == []


@given(_JOBS, _KEEP, st.floats(1000, 3000))
def test_letting_go_is_done_after_one_round_and_oldest_first(jobs: list[Ended], keep: Keep, now: float) -> None:
    gone = choose(jobs, keep, now)
    ends = {job.id: job.ended for job in jobs}
    assert [ends[job] for job in gone] == sorted(ends[job] for job in gone)
    left = [job for job in jobs if job.id not in gone]
    assert choose(left, keep, now) == []


def _ended(jobs: Jobs, *, size: int = 0) -> Job:
    job = jobs.begin("--shell", f"head -c {size} /dev/zero")
    job.wait()
    return job


def test_gc_lets_the_oldest_go_by_number_and_never_a_running_one(jobs: Jobs, roll: RollCall) -> None:
    running = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    first, second, third = (_ended(jobs) for _ in range(3))
    assert jobs.said("gc", "--count", "2") == {"removed": [first.id]}
    assert not os.path.exists(first.place.path)
    assert jobs.said("gc", "--count", "0")["removed"] == [second.id, third.id]
    assert [row["jobId"] for row in jobs.said("ps", "--all")] == [running.id]
    assert os.listdir(jobs.home / "jobs") == [running.id]
    assert running.status()["status"] == "running"
    assert listing.remove(running.place) is False
    assert running.ping()["ok"] is True


def test_gc_by_age_and_by_size(jobs: Jobs) -> None:
    small, large = _ended(jobs), _ended(jobs, size=100_000)
    assert jobs.said("gc") == {"removed": []}
    assert jobs.said("gc", "--age", "1h", "--bytes", "1M") == {"removed": []}
    assert jobs.said("gc", "--bytes", "50k")["removed"] == [small.id, large.id]
    last = _ended(jobs)
    assert jobs.call("gc", "--age", "0").out == b"1 jobs removed\n"
    assert not os.path.exists(last.place.path)
    assert jobs.refused("status", last.id).endswith(f"no such job: {last.id}")


def test_a_removal_that_was_interrupted_leaves_no_lost_job_behind(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every system call of it: the job is there whole, or it is gone; the next gc clears up."""
    calls = 0
    while True:
        job = _ended(jobs)
        wait_until(lambda place=job.place: not os.path.exists(place.control), "its keeper has cleared up")  # type: ignore[misc]
        calls += 1
        left = calls
        real = os.unlink

        def fail(path: str, real: object = real) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise KeyboardInterrupt
            assert callable(real)
            real(path)

        with monkeypatch.context() as patched:
            patched.setattr(os, "unlink", fail)
            try:
                listing.remove(job.place)
            except KeyboardInterrupt:
                interrupted = True
            else:
                interrupted = False
        rows = {row["jobId"]: row["phase"] for row in jobs.said("ps", "--all")}
        assert rows.get(job.id, "completed") == "completed"
        assert jobs.call("gc", "--count", "0").code == 0
        assert os.listdir(jobs.home / "jobs") == []
        if not interrupted:
            break
    assert calls > 3


def test_starting_a_job_lets_old_ones_go_now_and_then(jobs: Jobs) -> None:
    """Automatic, cheap (one stat) and in nobody's way; only once an hour."""
    old = _ended(jobs)
    events = Path(old.place.events)
    long_ago = b'"ts":"2001-01-01T00:00:00.000Z"'
    lines = events.read_bytes().splitlines(keepends=True)
    at = lines[-1].index(b'"ts":"')
    events.write_bytes(b"".join(lines[:-1]) + lines[-1][:at] + long_ago + lines[-1][at + len(long_ago) :])
    assert (jobs.home / "maintained").exists()
    _ended(jobs)
    assert os.path.exists(old.place.path), "not due yet"
    an_hour_ago = time.time() - 2 * maintenance.EVERY
    os.utime(jobs.home / "maintained", (an_hour_ago, an_hour_ago))
    newest = _ended(jobs)
    wait_until(lambda: not os.path.exists(old.place.path), "the old job is let go")
    assert os.path.exists(newest.place.path)


def test_the_library_maintains_without_forking_its_process(jobs: Jobs) -> None:
    old = _ended(jobs)
    os.utime(jobs.home / "maintained", (0, 0))
    handler = signal.getsignal(signal.SIGCHLD)
    assert unhang.run(["true"]).ok
    wait_until(lambda: not maintenance.due(str(jobs.home)), "maintained")
    assert signal.getsignal(signal.SIGCHLD) == handler
    assert check_log(old.place)


def test_a_directory_that_is_no_job_is_left_alone(jobs: Jobs, tmp_path: Path) -> None:
    _ended(jobs)
    folder = jobs.home / "jobs"
    (folder / "Not A Job").mkdir()
    (folder / "file").write_text("x")
    (folder / "elsewhere.gone").symlink_to(tmp_path)
    assert len(jobs.said("gc", "--count", "0")["removed"]) == 1
    assert sorted(os.listdir(folder)) == ["Not A Job", "elsewhere.gone", "file"]
    assert (tmp_path / "home").exists()
    assert listing.remove(JobDir(str(jobs.home), "n0suchj0b0")) is False
