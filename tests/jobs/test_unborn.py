"""A job without a record is just being born, or never was: told by the clock that stamps the files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unhang.jobs import reconcile
from unhang.procs import clock
from unhang.store import reader
from unhang.store.layout import JobDir


@pytest.fixture
def unborn(tmp_path: Path) -> JobDir:
    place = JobDir(str(tmp_path), "k3v9x2m4q8")
    os.makedirs(place.path)
    return place


def _set_back(place: JobDir, seconds: float) -> None:
    made = os.stat(place.path).st_mtime - seconds
    os.utime(place.path, (made, made))


def test_a_reader_whose_clock_is_an_hour_ahead_leaves_a_job_that_is_just_being_born(
    unborn: JobDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = clock.wall() + 3600
    monkeypatch.setattr(clock, "wall", lambda: ahead)
    assert reconcile.settle(unborn) is False
    assert not os.path.exists(unborn.events)
    assert os.listdir(unborn.home) == ["jobs"]


def test_a_directory_that_got_no_record_in_time_is_recorded_as_lost(unborn: JobDir) -> None:
    _set_back(unborn, reconcile.BIRTH + 1)
    assert reconcile.settle(unborn) is True
    assert [event["phase"] for event in reader.read_all(unborn.events)] == ["lost"]


def test_a_directory_from_before_the_last_boot_is_recorded_as_lost_with_the_machine(unborn: JobDir) -> None:
    _set_back(unborn, clock.monotonic() + reconcile.BIRTH_ELSEWHERE + 1)
    assert reconcile.settle(unborn) is True
    (lost,) = reader.read_all(unborn.events)
    assert reconcile.MACHINE_WENT_DOWN in lost["message"]


def test_a_caller_who_knows_that_no_keeper_comes_need_not_wait(unborn: JobDir) -> None:
    assert reconcile.settle(unborn, birth=0) is True
    assert [event["phase"] for event in reader.read_all(unborn.events)] == ["lost"]
