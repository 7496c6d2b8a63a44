"""A full disk costs records and bytes, never the job, and never the truth about its end. On a small tmpfs."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.jobs import STILL, Jobs, actor, check_log, keeper_of, left_of
from unhang.store.event_log import EventLog
from unhang.testing.liveness import RollCall

Disk = Callable[[str], Path]


@pytest.fixture
def disk(jobs: Jobs, tmp_path: Path) -> Iterator[Disk]:
    """A file system of its own for the state directory; `disk("size=256k")` mounts it."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / "small"
        place.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode:
            programs.not_permitted(f"a full disk needs the right to mount a tmpfs: {done.stderr!r}")
        mounted.append(place)
        jobs.home = place / "home"
        jobs.home.mkdir(0o700)
        jobs.env["UNHANG_HOME"] = str(jobs.home)
        return place

    yield mount
    jobs.close()
    jobs.end_everything()
    jobs.left_over()
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path, *, but: int = 0) -> None:
    """Until the kernel says that there is no room, then give `but` bytes back."""
    filler = os.open(place / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(filler, bytes(4096))
    except OSError:
        os.ftruncate(filler, max(0, os.fstat(filler).st_size - but))
    finally:
        os.close(filler)


def test_a_flood_on_a_full_disk_ends_truthfully_and_says_what_was_not_stored(jobs: Jobs, disk: Disk) -> None:
    disk("size=512k")
    job = jobs.begin("--", "sh", "-c", "head -c 3000000 /dev/zero; head -c 1000 /dev/zero >&2; exit 7")
    done = jobs.call("wait", job.id)
    assert done.code == 7
    last = check_log(job.place)[-1]
    assert (last["phase"], last["exitCode"]) == ("failed", 7)
    assert last["bytes"] == {"stdout": 3_000_000, "stderr": 1000}
    stored = len(job.output("stdout", 0, 1 << 30).data)
    assert 0 < stored < 512 << 10
    assert last["unstoredBytes"] >= 3_000_000 - stored
    result = job.result()
    assert (result.exit_code, result.truncated) == (7, True)
    assert left_of(job.place) == []


def test_events_that_do_not_fit_are_counted_and_said_and_the_end_is_recorded(
    jobs: Jobs, disk: Disk, roll: RollCall
) -> None:
    place = disk("size=512k")
    job = jobs.begin("--stdin", "pipe", *STILL, "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    fill(place)
    asked = 200
    for _ in range(asked):  # each is an event
        job.extend(hard=1)
    job.send("exit 5\n")
    assert job.wait().exit_code == 5
    events = check_log(job.place)
    [note] = [event for event in events if event["type"] == "store"]
    recorded = sum(event["phase"] == "extended" for event in events)
    assert 0 < recorded < asked
    assert asked - recorded <= note["missing"] <= asked - recorded + 5  # the watchdog may have had its say, too
    assert events[-2] == note
    assert (events[-1]["phase"], events[-1]["exitCode"]) == ("failed", 5)
    shown = jobs.said("status", job.id)
    assert (shown["status"], shown["exitCode"], shown["phase"]) == ("error", 5, "failed")


def test_records_go_on_when_there_is_room_again(jobs: Jobs, disk: Disk, roll: RollCall) -> None:
    place = disk("size=512k")
    job = jobs.begin("--stdin", "pipe", *STILL, "--", *actor("puppet", roll.path))
    roll.wait_for("leader")
    fill(place)
    for _ in range(200):
        job.extend(hard=1)
    (place / "filler").unlink()
    job.extend(hard=1)
    assert job.cancel().status == "cancelled"
    kinds = [f"{event['type']} {event['phase']}" for event in check_log(job.place)]
    at = kinds.index("store warning")
    assert kinds[at + 1] == "watchdog extended"
    assert kinds.count("store warning") == 1


def test_a_timeout_on_a_full_disk_is_still_a_timeout(jobs: Jobs, disk: Disk, roll: RollCall) -> None:
    place = disk("size=512k")
    job = jobs.begin("--idle", "4", "--grace", "0.1", "--liveness", "output", "--", *actor("ignore_term", roll.path))
    fill(place)
    result = job.wait()
    assert (result.status, result.timeout_reason) == ("timeout", "no_output_timeout")
    assert check_log(job.place)[-1]["terminationMode"] == "hard"
    assert roll.is_empty()


def test_a_keeper_killed_on_a_full_disk_is_recorded_as_lost(jobs: Jobs, disk: Disk, roll: RollCall) -> None:
    place = disk("size=512k")
    job = jobs.begin(*STILL, "--", *actor("double_fork", roll.path))
    roll.wait_for("member")
    fill(place)
    keeper, _ = keeper_of(job.place)
    keeper.send(9)
    assert (job.wait().error or {})["code"] == "ELOST"
    assert check_log(job.place)[-1]["phase"] == "lost"
    assert roll.wait_empty()


def test_listing_works_without_room_for_the_index(jobs: Jobs, disk: Disk) -> None:
    place = disk("size=512k")
    job = jobs.begin("--", "true")
    job.wait()
    fill(place)
    for _ in range(2):
        assert [row["jobId"] for row in jobs.said("ps", "--all")] == [job.id]


@pytest.mark.parametrize("room", [0, 4096, 8192, 16384])
def test_a_home_that_is_full_from_the_start_is_refused_in_one_line_and_nothing_is_started(
    jobs: Jobs, disk: Disk, tmp_path: Path, room: int
) -> None:
    place = disk("size=256k")
    (jobs.home / "jobs").mkdir(0o700)
    fill(place, but=room)
    proof = tmp_path / "started"
    for command in ("start", "run"):
        line = jobs.refused(command, "--", "touch", proof)
        assert "No space left" in line
    assert not proof.exists()
    assert os.listdir(jobs.home / "jobs") == []


def test_a_job_without_a_control_socket_is_said_to_run_and_can_be_cancelled(
    jobs: Jobs, disk: Disk, roll: RollCall
) -> None:
    """No inode was left for the socket: job.json and the log were the last ones."""
    place = disk("size=1m,nr_inodes=100")
    (jobs.home / "jobs").mkdir(0o700)
    number = 0
    while os.statvfs(place).f_ffree > 3:  # its directory, job.json, the log
        (place / f"inode{number}").touch()
        number += 1
    job = jobs.begin(*STILL, "--stdin", "pipe", "--", *actor("obedient", roll.path))
    roll.wait_for("leader")
    assert not os.path.exists(job.place.control)
    assert jobs.said("status", job.id)["status"] == "running"
    assert "has ended" not in jobs.refused("extend", job.id, "--hard", "1m")
    done = jobs.call("cancel", job.id, "--json")
    assert (done.code, json.loads(done.out)["status"]) == (0, "cancelled")
    assert roll.is_empty()
    check_log(job.place)


def test_the_room_for_the_end_is_there_before_anything_is_started(tmp_path: Path) -> None:
    def refuse(_fd: int, _offset: int, _length: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        EventLog(str(tmp_path / "log"), lambda: "now", allocate=refuse)


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_doctor_says_that_the_disk_cannot_be_written_to(jobs: Jobs, disk: Disk, how: str) -> None:
    place = disk("size=256k")
    assert jobs.call("doctor").code == 0
    if how == "full":
        fill(place)
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    done = jobs.call("doctor", "--json")
    state = next(check for check in json.loads(done.out)["checks"] if check["check"] == "state")
    assert done.code == 125
    assert state["ok"] is False
    assert os.strerror(errno.ENOSPC if how == "full" else errno.EROFS) in state["message"]
