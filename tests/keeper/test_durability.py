"""What is brought to the disk, and when; and what the keeper promises to its guard."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unhang.keeper.durability import LATER, Durability
from unhang.keeper.prefork.deadline_board import DeadlineBoard, Promise
from unhang.store import files
from unhang.store.layout import JobDir


class Disk:
    """Stands for a slow disk: notes what is synced, and lets each sync wait for leave."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.leave = threading.Event()
        self.leave.set()
        self.reached = threading.Semaphore(0)
        monkeypatch.setattr(files, "sync_path", self._sync)

    def _sync(self, path: str) -> None:
        self.reached.release()
        self.leave.wait(30)
        self.synced.append(path)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> JobDir:
    return JobDir(str(tmp_path), "abc")


def test_the_names_of_the_files_are_synced_with_the_first_promise_and_only_then(disk: Disk, place: JobDir) -> None:
    kept = Durability(place)
    logged: list[int] = []
    kept.now(lambda: logged.append(1))
    assert logged == [1]
    assert {place.job, place.path, place.home} <= set(disk.synced)
    disk.synced.clear()
    kept.now(lambda: logged.append(2))
    assert logged == [1, 2]
    assert disk.synced == []


def test_the_names_of_output_files_are_synced_behind_what_they_hold(disk: Disk, place: JobDir) -> None:
    kept = Durability(place)
    kept.sync_names()
    disk.synced.clear()
    kept.sync_output([lambda: files.sync_path("out")])
    kept.sync_output([lambda: files.sync_path("out")])
    assert disk.synced == ["out", place.path, "out"]


def test_what_may_wait_is_due_some_seconds_after_the_first_of_it(disk: Disk, place: JobDir) -> None:
    kept = Durability(place)
    assert kept.due() is None
    kept.wrote_event(10.0)
    kept.wrote_output(11.0)
    kept.wrote_event(12.0)
    assert kept.due() == 10.0 + LATER
    kept.now(lambda: None)  # the events are on the disk, the output is not
    assert kept.due() == 11.0 + LATER
    assert disk.synced


def test_a_slow_sync_does_not_block_the_keeper_and_only_one_runs_at_a_time(disk: Disk, place: JobDir) -> None:
    kept = Durability(place)
    disk.leave.clear()
    kept.wrote_output(1.0)
    kept.later([lambda: files.sync_path("out")], 4.0)
    assert disk.reached.acquire(timeout=30)
    assert kept.due() is None
    kept.wrote_output(5.0)
    kept.later([lambda: files.sync_path("out")], 8.0)  # the first sync has not come back: one at a time
    assert kept.due() == 8.0 + LATER
    disk.leave.set()
    for _ in range(5):
        assert disk.reached.acquire(timeout=30)
    assert disk.synced.count("out") == 1


def test_without_a_thread_the_sync_is_done_at_once(disk: Disk, place: JobDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    kept = Durability(place)
    kept.wrote_output(1.0)
    kept.later([lambda: files.sync_path("out")], 4.0)
    assert "out" in disk.synced


_GUARD_AND_KEEPER = """
import os, signal
from unhang.core.watchdog.clocks import NEVER
from unhang.keeper.prefork.deadline_board import DeadlineBoard, Promise
board = DeadlineBoard()
assert board.read().due == NEVER
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
for promise, wakes in (
    (Promise(50.0, "hard", started=1.0, idle=2.5, leader=7, by="x"), True),
    (Promise(60.0, "hard"), False),
    (Promise(20.0, "idle"), True),
    (Promise(NEVER, ""), False),
):
    pid = os.fork()
    if pid == 0:
        board.post(promise)
        os._exit(0)
    os.waitpid(pid, 0)
    assert board.read() == promise, board.read()
    board._posted = promise  # the child knew, and is gone
    assert (signal.sigtimedwait({signal.SIGUSR2}, 0) is not None) == wakes, promise
"""


def test_a_promise_is_read_as_it_was_posted_and_the_guard_woken_only_for_an_earlier_one() -> None:
    """In a process of one thread, which stands for the guard; its children stand for the keeper."""
    done = subprocess.run([sys.executable, "-c", _GUARD_AND_KEEPER], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_limit_that_moves_on_a_little_is_not_posted_again() -> None:
    board = DeadlineBoard()
    board.post(Promise(10.0, "idle"))
    board.post(Promise(10.3, "idle"))
    assert board.read().due == 10.0
    board.post(Promise(10.3, "hard"))
    assert board.read() == Promise(10.3, "hard")
