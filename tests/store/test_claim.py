"""The claim on a log: held by one, seen by all, gone with its holder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.errors import StateError
from unhang.store import claim, files
from unhang.store.event_log import AlreadyRecorded, EventLog

pytestmark = pytest.mark.skipif(not claim.SUPPORTED, reason="NOT TESTED: this system has no locks of open files")


def test_one_descriptor_holds_the_claim_and_asking_does_not_take_it(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    first, second = (files.open_plain(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert not claim.is_claimed(path)
    assert claim.take(first)
    assert claim.is_claimed(path)
    assert not claim.take(second)
    os.close(files.open_plain(path, os.O_RDONLY))  # a lock of a process would be gone now
    assert claim.is_claimed(path)
    os.close(first)
    assert not claim.is_claimed(path)
    assert claim.take(second)
    os.close(second)


def test_the_claim_ends_with_a_holder_that_is_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    program = (
        "import os, sys\nfrom unhang.store import claim, files\n"
        "assert claim.take(files.open_plain(sys.argv[1], os.O_RDWR | os.O_CREAT))\n"
        "print(flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert claim.is_claimed(path)
        holder.kill()
    assert not claim.is_claimed(path)


def test_what_is_no_file_is_claimed_by_no_process(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, tmp_path / "missing"):
        assert not claim.is_claimed(str(path))
    with pytest.raises(StateError):
        files.open_plain(str(fifo), os.O_RDONLY)


def test_a_log_is_begun_once(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = EventLog(path, lambda: "", begin=True)
    assert claim.is_claimed(path)
    with pytest.raises(AlreadyRecorded):
        EventLog(path, lambda: "", begin=True)
    log.close()
    with pytest.raises(AlreadyRecorded):
        EventLog(path, lambda: "", begin=True)
