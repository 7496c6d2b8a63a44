"""A state directory that cannot be trusted is refused in one line, before anything is read, written or started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import unhang
from tests.support.jobs import STILL, Jobs, actor, check_log, over
from unhang.store import layout
from unhang.testing.liveness import RollCall

_READING = (
    *(("status", "JOB"), ("result", "JOB"), ("events", "JOB"), ("logs", "JOB"), ("wait", "JOB"), ("cancel", "JOB")),
    *(("extend", "JOB", "--hard", "1m"), ("send", "JOB", "x")),
)
_LISTING = (("ps",), ("ps", "--all", "--json"), ("gc",))


def _everything_is_refused(jobs: Jobs, job_id: str, why: str, proof: Path) -> None:
    for words in (*_READING, *_LISTING):
        line = jobs.refused(*(job_id if word == "JOB" else word for word in words))
        assert "refused" in line
        assert why in line
    for command in ("start", "run"):
        assert why in jobs.refused(command, "--", "touch", proof)
    with pytest.raises(unhang.StateError, match="refused"):
        unhang.start(["touch", str(proof)])
    with pytest.raises(unhang.StateError, match="refused"):
        unhang.list_jobs()
    assert not proof.exists()
    assert jobs.call("doctor").code == 125


@pytest.fixture
def ended(jobs: Jobs) -> str:
    return over(jobs.begin("--", "echo", "secret")).id


def test_a_job_id_that_is_a_path_or_anything_else_is_refused(jobs: Jobs, ended: str) -> None:
    outside = layout.JobDir(str(jobs.home), "../../outside")
    jobs.copy(layout.JobDir(str(jobs.home), ended), outside)
    paths = ["../x", "/etc", "a/b", "..", ".", "", "../../outside", str(jobs.home / "jobs" / ended), f"../jobs/{ended}"]
    for name in [*paths, "a\nb", "-", "ABCDEFGHIJ", "é", "x" * 300, "a.gone"]:
        assert "job id" in jobs.refused("status", "--", name)
        with pytest.raises(unhang.NoSuchJob):
            unhang.job(name)
        with pytest.raises(unhang.NoSuchJob):
            layout.existing(str(jobs.home), name)
    for command in ("result", "events", "logs", "wait", "cancel"):
        assert "job id" in jobs.refused(command, "../../outside")


def test_a_symbolic_link_as_home_is_refused(jobs: Jobs, ended: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    jobs.home.rename(tmp_path / "real" / "home")
    jobs.home.symlink_to(tmp_path / "real" / "home")
    _everything_is_refused(jobs, ended, "symbolic link", tmp_path / "proof")


def test_a_symbolic_link_as_the_folder_of_jobs_is_refused(jobs: Jobs, ended: str, tmp_path: Path) -> None:
    (jobs.home / "jobs").rename(tmp_path / "elsewhere")
    (jobs.home / "jobs").symlink_to(tmp_path / "elsewhere")
    _everything_is_refused(jobs, ended, "symbolic link", tmp_path / "proof")


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702, 0o1777])
@pytest.mark.parametrize("folder", [".", "jobs"])
def test_a_home_that_others_may_write_to_is_refused(
    jobs: Jobs, ended: str, tmp_path: Path, mode: int, folder: str
) -> None:
    (jobs.home / folder).chmod(mode)
    line = jobs.refused("status", ended)
    assert "others may write" in line
    assert "chmod 700" in line
    if mode == 0o777:
        _everything_is_refused(jobs, ended, "others may write", tmp_path / "proof")
    (jobs.home / folder).chmod(0o700)
    assert jobs.said("status", ended)["status"] == "success"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: giving a directory to another user needs root")
@pytest.mark.parametrize("folder", [".", "jobs"])
def test_a_home_of_another_user_is_refused(jobs: Jobs, ended: str, tmp_path: Path, folder: str) -> None:
    os.chown(jobs.home / folder, 65534, 65534)
    _everything_is_refused(jobs, ended, "another user", tmp_path / "proof")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: giving a directory to another user needs root")
def test_a_job_directory_of_another_user_is_refused(jobs: Jobs, ended: str) -> None:
    other = jobs.copy(layout.JobDir(str(jobs.home), ended), layout.JobDir(str(jobs.home), "0therzzzzz"))
    os.chown(other.path, 65534, 65534)
    for words in _READING:
        assert "another user" in jobs.refused(*(other.id if word == "JOB" else word for word in words))
    assert jobs.said("status", ended)["status"] == "success"


def test_a_home_that_is_a_file_is_refused(jobs: Jobs, tmp_path: Path) -> None:
    jobs.home.write_text("not a directory")
    assert "not a directory" in jobs.refused("start", "--", "touch", tmp_path / "proof")
    assert not (tmp_path / "proof").exists()


def test_a_symbolic_link_planted_as_a_job_directory_is_refused_and_not_listed(
    jobs: Jobs, ended: str, tmp_path: Path
) -> None:
    (jobs.home / "jobs" / ended).rename(tmp_path / "elsewhere")
    (jobs.home / "jobs" / ended).symlink_to(tmp_path / "elsewhere")
    before = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    for words in _READING:
        assert "symbolic link" in jobs.refused(*(ended if word == "JOB" else word for word in words))
    assert jobs.said("ps", "--all") == []
    assert jobs.said("gc", "--count", "0")["removed"] == []
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == before


@pytest.mark.parametrize("name", ["events.ndjson", "stdout", "stderr", "job.json"])
def test_a_symbolic_link_planted_inside_a_job_directory_is_not_followed(
    jobs: Jobs, ended: str, tmp_path: Path, name: str
) -> None:
    """Neither read nor written through; the other jobs are still listed."""
    good = jobs.begin("--", "true")
    good.wait()
    place = layout.JobDir(str(jobs.home), ended)
    victim = tmp_path / "victim"
    victim.write_text("another file's words\n")
    os.unlink(f"{place.path}/{name}")
    os.symlink(victim, f"{place.path}/{name}")
    for words in (("status", ended), ("result", ended), ("events", ended), ("logs", ended)):
        done = jobs.call(*words)
        assert b"another file's words" not in done.out + done.err
        assert b"Traceback" not in done.err
        assert len(done.err.splitlines()) <= 1
    assert victim.read_text() == "another file's words\n"
    assert good.id in [row["jobId"] for row in jobs.said("ps", "--all")]
    assert victim.read_text() == "another file's words\n"


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_output_through_a_planted_link_is_refused_in_one_line(
    jobs: Jobs, ended: str, tmp_path: Path, name: str
) -> None:
    place = layout.JobDir(str(jobs.home), ended)
    os.unlink(place.stream(name))
    os.symlink(tmp_path / "victim", place.stream(name))
    for words in (("result", ended), ("status", ended), ("logs", ended, "--stream", name)):
        assert "symbolic link" in jobs.refused(*words)


def test_a_link_planted_as_the_control_socket_is_not_followed(jobs: Jobs, roll: RollCall) -> None:
    first = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    second = jobs.begin(*STILL, "--", *actor("obedient", roll.path))
    roll.wait_for("leader", 2)
    os.rename(second.place.control, second.place.control + ".away")
    os.symlink(first.place.control, second.place.control)
    jobs.refused("extend", second.id, "--hard", "1m")
    assert all(event["phase"] != "extended" for job in (first, second) for event in job.events())
    assert jobs.call("cancel", second.id).code == 0
    assert check_log(second.place)[-1]["phase"] == "cancelled"
    assert first.status()["status"] == "running"
