"""Old jobs are let go by age, number and size; a running one never, and nothing is ever half gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unhang
from tests.support import programs
from tests.support.jobs import STILL, Jobs, actor, check_log, wait_until
from unhang.core import retention
from unhang.core.retention import EndedJob, Keep, choose
from unhang.jobs import cleanup, remove_old
from unhang.jobs.handle import Job
from unhang.procs import clock
from unhang.store.layout import JobDir
from unhang.store.removal import remove_tree
from unhang.store.session_log import SessionLog, session_ids
from unhang.testing.liveness import RollCall

LONG_AGO = "2001-01-01T00:00:00.000Z"
_JOBS = st.lists(
    st.builds(EndedJob, st.text("abc", min_size=4, max_size=8), st.floats(0, 1000), st.integers(0, 100)),
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
    jobs: list[EndedJob], keep: Keep, now: float
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
def test_letting_go_is_done_after_one_round_and_oldest_first(jobs: list[EndedJob], keep: Keep, now: float) -> None:
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
    assert jobs.said("gc", "--count", "2")["removed"] == [first.id]
    assert not os.path.exists(first.place.path)
    assert jobs.said("gc", "--count", "0")["removed"] == [second.id, third.id]
    assert [row["jobId"] for row in jobs.said("ps", "--all")] == [running.id]
    assert os.listdir(jobs.home / "jobs") == [running.id]
    assert running.status()["status"] == "running"
    assert remove_old.remove(running.place) is False
    assert running.ping()["ok"] is True


def test_gc_removes_by_age_and_by_size(jobs: Jobs) -> None:
    small, large = _ended(jobs), _ended(jobs, size=100_000)
    assert jobs.said("gc")["removed"] == []
    assert jobs.said("gc", "--age", "1h", "--bytes", "1M")["removed"] == []
    assert jobs.said("gc", "--bytes", "50k")["removed"] == [small.id, large.id]
    last = _ended(jobs)
    assert jobs.call("gc", "--age", "0").out.startswith(b"1 ")
    assert not os.path.exists(last.place.path)
    assert last.id in jobs.refused("status", last.id)


def test_a_removal_that_was_interrupted_leaves_no_lost_job_behind(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every system call of it: the job is there whole, or it is gone; the next gc clears up."""
    calls = 0
    while True:
        job = _ended(jobs)
        wait_until(lambda place=job.place: not os.path.exists(place.control), "its keeper has cleared up")  # type: ignore[misc]
        calls += 1
        left = calls
        real = os.unlink

        def fail(path: str, *, dir_fd: int | None = None, real: object = real) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                raise KeyboardInterrupt
            assert callable(real)
            real(path, dir_fd=dir_fd)

        with monkeypatch.context() as patched:
            patched.setattr(os, "unlink", fail)
            try:
                remove_old.remove(job.place)
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


def _make_old(job: Job, when: str, *, boot: str | None = "another boot") -> None:
    """As if it had ended then, in another boot."""
    events, record = Path(job.place.events), Path(job.place.job)
    *lines, last = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join([*lines, json.dumps(json.loads(last) | {"ts": when}).encode() + b"\n"]))
    if boot is not None:
        found = json.loads(record.read_bytes())
        record.write_text(json.dumps(found | {"keeper": found["keeper"] | {"boot": boot}}))


def _make_due(jobs: Jobs) -> None:
    an_hour_ago = time.time() - 2 * cleanup.EVERY
    os.utime(jobs.home / "maintained", (an_hour_ago, an_hour_ago))


def test_starting_a_job_lets_old_ones_go_when_maintenance_is_due(jobs: Jobs) -> None:
    """Automatic, cheap (one stat) and in nobody's way; only once an hour."""
    old = _ended(jobs)
    _make_old(old, LONG_AGO)
    assert (jobs.home / "maintained").exists()
    _ended(jobs)
    assert os.path.exists(old.place.path), "not due yet"
    _make_due(jobs)
    _ended(jobs)
    stamp = jobs.home / "maintained"
    wait_until(lambda: stamp.stat().st_size and not cleanup.due(str(jobs.home)), "the first round in this boot")
    assert os.path.exists(old.place.path), "its clock may be wrong: nothing is let go by age"
    _make_due(jobs)
    newest = _ended(jobs)
    wait_until(lambda: not os.path.exists(old.place.path), "the old job is let go")
    assert os.path.exists(newest.place.path)


def test_a_clock_that_is_set_forward_lets_no_fresh_record_go(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of this boot nor of another one; number and size still count, and so does time that really passes."""
    home = str(jobs.home)
    fresh, other = _ended(jobs), _ended(jobs)
    _make_old(other, clock.rfc3339(time.time() - 3600))
    log = SessionLog("session", home)
    log.append({"type": "hook", "phase": "idle", "message": "Stop"})
    assert jobs.call("history").code == 0
    cleanup._collect(home)
    weeks = 0.0
    passed = 0.0
    wall, monotonic = clock.wall, clock.monotonic
    monkeypatch.setattr(clock, "wall", lambda: wall() + weeks + passed)
    monkeypatch.setattr(clock, "monotonic", lambda: monotonic() + passed)
    for days in (20, 400, -400, 0):
        weeks = days * 86400.0
        for _ in range(2):
            cleanup._collect(home)
        assert os.path.exists(fresh.place.path)
        assert os.path.exists(other.place.path)
        assert session_ids(home) == ["session"]
        assert len(json.loads(jobs.call("history", "--json").out)["commands"]) == 1
    weeks = 20 * 86400.0
    assert list(remove_old.remove_old_jobs(home, Keep())) == [other.id], (
        "asked for: by the clock, but what this boot has seen it knows"
    )
    assert os.path.exists(fresh.place.path)
    weeks, passed = 0.0, 20 * 86400.0
    cleanup._collect(home)
    assert not os.path.exists(fresh.place.path)
    assert session_ids(home) == []
    passed = 100 * 86400.0
    cleanup._collect(home)
    assert json.loads(jobs.call("history", "--json").out)["commands"] == []


def test_a_stamp_from_the_future_or_one_that_is_odd_does_no_harm(jobs: Jobs) -> None:
    fresh = _ended(jobs)
    stamp = jobs.home / "maintained"
    for text in ("", "{", "[]", '{"boot": 3}', '{"boot": "x", "booted": 1e999}', '{"boot": "x", "booted": -1}'):
        stamp.write_text(text)
        cleanup._collect(str(jobs.home))
        assert json.loads(stamp.read_bytes())["boot"]
    later = time.time() + 86400
    os.utime(stamp, (later, later))
    assert cleanup.due(str(jobs.home))
    assert not cleanup.due(str(jobs.home))
    assert os.path.exists(fresh.place.path)


_STEPS = st.lists(
    st.tuples(st.just("pass"), st.floats(0, 30 * 86400))
    | st.tuples(st.just("set"), st.floats(-400 * 86400, 400 * 86400))
    | st.tuples(st.just("job"), st.floats(0, 10 * 86400))
    | st.tuples(st.just("round"), st.just(0.0)),
    max_size=30,
)


@given(_STEPS, st.lists(st.floats(0, 40 * 86400), max_size=5))
def test_however_the_clock_is_set_no_record_goes_before_its_time(
    steps: list[tuple[str, float]], before: list[float]
) -> None:
    """Only the time that really passes counts. `before`: how long before this boot other jobs had ended."""
    boot_at, since_boot, set_by = 2_000_000_000.0, 100.0, 0.0
    keep = Keep(count=None, bytes=None)
    jobs = {f"old{n}": EndedJob(f"old{n}", boot_at - ago, 1) for n, ago in enumerate(before)}
    ended_at = {name: job.ended for name, job in jobs.items()}  # as it really was
    born: dict[str, float] = {}
    took: dict[str, float] = {}
    stamp: retention.Stamp | None = None
    for step, value in [("round", 0.0), *steps, ("round", 0.0)]:
        if step == "pass":
            since_boot += value
        elif step == "set":
            set_by = value
        elif step == "job":
            name = f"job{len(born)}"
            born[name], took[name] = since_boot, value
            since_boot += value
            ended_at[name] = boot_at + since_boot
            jobs[name] = EndedJob(name, boot_at + since_boot + set_by, 1)
        else:
            clocks = retention.ClockReadings(boot_at + since_boot + set_by, since_boot, "this")
            stamp = stamp or retention.first_of(clocks)
            offered = [
                job
                if job.id not in born
                else job.replace(
                    most=retention.most_of(clocks, "this", str(int(born[job.id] * 100)), 100, took[job.id])
                )
                for job in jobs.values()
            ]
            for name in choose(offered, keep, retention.steady(clocks, stamp)):
                assert boot_at + since_boot - ended_at[name] > (keep.age or 0.0) - 1
                del jobs[name]


@pytest.mark.parametrize("start", ["", "x", "-1", "1.5", "²", "9" * 19, None, 5, True])
def test_a_start_that_is_none_bounds_no_age(start: object) -> None:
    clocks = retention.ClockReadings(2e9, 1000.0, "this")
    assert retention.most_of(clocks, "this", start, 100, 0) is None
    assert retention.most_of(clocks, "another", "100", 100, 0) is None
    assert retention.most_of(retention.ClockReadings(2e9, 1000.0, ""), "", "100", 100, 0) is None
    assert retention.most_of(clocks, "this", "100", 100, 9) == 990.0
    assert retention.most_of(clocks, "this", "200000", 100, 0) == 0.0


def test_gc_removes_old_runs_from_the_history(jobs: Jobs) -> None:
    _ended(jobs)
    assert len(json.loads(jobs.call("history", "--json").out)["commands"]) == 1
    assert jobs.said("gc", "--history", "1h")["removed"] == []
    said = jobs.said("gc", "--history", "0")
    assert said.pop("bytes") > 0
    assert said == {"removed": [], "historyRuns": 1, "freedBytes": 0, "jobs": 1}
    assert json.loads(jobs.call("history", "--json").out)["commands"] == []
    assert b"/dev/zero" not in b"".join(path.read_bytes() for path in jobs.home.glob("index.db*")).replace(
        b"head -c 0 /dev/zero", b"", 1
    ), "only in the list of jobs, which is still there"
    assert jobs.said("gc", "--age", "0")["removed"]
    assert b"/dev/zero" not in b"".join(path.read_bytes() for path in jobs.home.glob("index.db*"))
    assert "--history" in jobs.refused("gc", "--history", "soon", code=2)


def test_the_library_maintains_without_forking_its_process(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden() -> int:
        raise AssertionError("the library forked its caller")

    old = _ended(jobs)
    monkeypatch.setattr(os, "fork", forbidden)
    os.utime(jobs.home / "maintained", (0, 0))
    handler = signal.getsignal(signal.SIGCHLD)
    assert unhang.run(["true"]).ok
    wait_until(lambda: not cleanup.due(str(jobs.home)), "maintained")
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
    assert remove_old.remove(JobDir(str(jobs.home), "n0suchj0b0")) is False


# --- what a job may have put into its own directory ------------------------------------------------------------


def test_a_job_that_fills_its_own_directory_is_let_go_whole_and_nothing_outside_is_touched(
    jobs: Jobs, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "file").write_text("keep me")
    line = f"""cd {jobs.home}/jobs/$UNHANG_JOB && mkdir -p a/b/c d/e 'with space' -- -f &&
        ln -s {outside} link && ln -s {outside}/file a/link && ln -s {outside}/folder a/b/folder && ln -s .. a/up &&
        ln {outside}/file hard && mkfifo a/fifo && touch a/b/x d/e/.1 .1 && mkdir .2 &&
        chmod 000 a/b d && chmod 500 a"""
    job = jobs.begin("--shell", line)
    assert job.wait().ok
    assert jobs.said("gc", "--age", "0")["removed"] == [job.id]
    assert os.listdir(jobs.home / "jobs") == []
    assert (outside / "file").read_text() == "keep me"
    assert (outside / "folder").is_dir()


def test_a_chain_of_folders_longer_than_a_path_may_be_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "x.gone"
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(3000):  # deeper than Python recurses, and than descriptors are
        os.mkdir("deep", dir_fd=at)
        inner = os.open("deep", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert remove_tree(str(top))
    assert os.listdir(tmp_path) == []


def test_what_is_mounted_in_a_job_directory_is_left_alone(tmp_path: Path) -> None:
    """A bind mount of the same file system: the device number is the same, and still it is not ours."""
    top, outside = tmp_path / "x.gone", tmp_path / "outside"
    (top / "mounted").mkdir(parents=True)
    (top / "file").touch()
    (outside / "folder").mkdir(parents=True)
    (outside / "file").touch()
    code = "import sys; from unhang.store.removal import remove_tree; print(remove_tree(sys.argv[1]))"
    line = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    inside = ["sh", "-c", line, "sh", str(outside), str(top / "mounted"), sys.executable, "-c", code, str(top)]
    done = subprocess.run(["unshare", "--mount", *inside], capture_output=True, text=True, check=False)
    if done.returncode:
        programs.not_permitted(f"a mount needs the right to mount: {done.stderr!r}")
    assert done.stdout == "False\n"
    assert sorted(os.listdir(outside)) == ["file", "folder"]
    assert os.listdir(top) == ["mounted"]
    assert remove_tree(str(top))
