"""A keeper that has no job yet goes through one on nothing: all of it, and without a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unhang.core.events import EXITED
from unhang.keeper import whole_rehearsal
from unhang.keeper.journal import Journal
from unhang.keeper.streams import ReadBuffer

_TRACES = """
import os, sys
from unhang.keeper.streams import ReadBuffer
from unhang.keeper.whole_rehearsal import rehearse_whole

def seen():
    with os.scandir("/proc/self/fd") as entries:  # one of them is the scan's own
        fds = {entry.name: os.readlink(entry.path) for entry in entries}
    return fds, os.getcwd(), os.umask(0o22), open("/proc/self/limits").read(), os.listdir()

before = seen()
rehearse_whole(ReadBuffer())
assert seen() == before, (before, seen())
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    sys.exit(0)
"""


def test_a_whole_job_is_gone_through_from_its_request_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by `rehearse_whole`, which passes over a shortage: a step that fails here is one that is not rehearsed."""
    ends: list[tuple[str, str, int]] = []
    record_last = Journal.record_last

    def note(journal: Journal, event: dict[str, object]) -> None:
        record_last(journal, event)
        ends.append((str(event["type"]), str(event["phase"]), journal.seq))

    monkeypatch.setattr(Journal, "record_last", note)
    whole_rehearsal._go_through(ReadBuffer())
    assert ends == [(EXITED, "completed", 3)]  # behind its start and its output


def test_no_descriptor_process_file_or_limit_is_left_of_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRACES], cwd=tmp_path, capture_output=True, check=False, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
