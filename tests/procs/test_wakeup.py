"""A wakeup reports the growth of a file, and the deletion of what it watches."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unhang.procs.file_watch import FileWatch
from unhang.procs.wakeup import Wakeup
from unhang.testing.liveness import PATIENCE


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    path = folder / "events"
    path.write_bytes(b"one\n")
    return path


def test_growth_of_a_file_wakes_once(log: Path) -> None:
    with Wakeup() as wakeup:
        wakeup.add_file(str(log))
        assert not wakeup.wait(0)
        with log.open("ab") as file:
            file.write(b"two\n")
        assert wakeup.wait(PATIENCE)
        assert not wakeup.wait(0)
        assert wakeup.gone == set()


@pytest.mark.parametrize("how", ["deleted", "moved away"])
def test_a_folder_that_goes_wakes_and_is_known_to_be_gone(log: Path, how: str) -> None:
    with Wakeup() as wakeup, log.open("rb"):  # a follower reads it, a keeper writes it
        wakeup.add_file(str(log.parent))
        wakeup.add_file(str(log))
        if how == "deleted":
            shutil.rmtree(log.parent)
        else:
            log.parent.rename(log.parent.parent / "elsewhere")
        while str(log.parent) not in wakeup.gone:
            assert wakeup.wait(PATIENCE)


def test_a_file_that_is_deleted_while_it_is_read_wakes(log: Path) -> None:
    """The kernel keeps it until the last reader has closed it; that may be the one who waits."""
    with Wakeup() as wakeup, log.open("rb"):
        wakeup.add_file(str(log))
        log.unlink()
        assert wakeup.wait(PATIENCE)


def test_a_file_that_comes_back_is_not_gone(log: Path) -> None:
    with Wakeup() as wakeup:
        wakeup.add_file(str(log))
        log.unlink()
        while str(log) not in wakeup.gone:
            assert wakeup.wait(PATIENCE)
        log.write_bytes(b"again\n")
        wakeup.add_file(str(log))
        assert wakeup.gone == set()
        with log.open("ab") as file:
            file.write(b"two\n")
        assert wakeup.wait(PATIENCE)


def test_without_a_watch_a_wait_is_cut_short(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileWatch, "add", lambda _self, _path, _events: None)
    with Wakeup() as wakeup:
        wakeup.add_file(str(log))
        assert wakeup.fd == -1
        began = time.monotonic()
        assert not wakeup.wait(PATIENCE)
        assert time.monotonic() - began < PATIENCE


_USED_UP = """
import ctypes, os, resource
import unhang.procs.linux.inotify
from unhang.procs.wakeup import Wakeup
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
os.seteuid(65532)
libc = ctypes.CDLL(None)
taken = 0
while libc.inotify_init1(0) >= 0:
    taken += 1
with Wakeup() as wakeup:
    wakeup.add_file("/")
    print(taken > 0, wakeup.fd, wakeup.wait(30))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: to use up another user's inotify instances needs root")
def test_with_all_inotify_instances_used_up_there_is_no_watch_and_no_error() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _USED_UP], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout.split() == ["True", "-1", "False"], done.stderr
