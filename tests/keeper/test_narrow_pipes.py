"""Pipes of two pages, which a user gets whose share of pipe pages is used up: slower, never wrong."""

from __future__ import annotations

import fcntl
import filecmp
import os
import select
import subprocess
from pathlib import Path

import pytest

from unhang.keeper.streams import OutputStream, ReadBuffer
from unhang.store.output import OutputStore

PAGE = 4096
LINES = 1_500_000


def _refused(*_: object) -> int:
    raise PermissionError


@pytest.mark.parametrize("widens", [True, False])
def test_a_flood_through_a_narrow_pipe_is_stored_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, widens: bool
) -> None:
    reads, writes = os.pipe()
    os.set_blocking(reads, False)
    assert fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, 2 * PAGE) == 2 * PAGE
    printed = tmp_path / "printed"
    printed.write_bytes(b"".join(b"%d\n" % number for number in range(LINES)))
    store = OutputStore(str(tmp_path / "stdout"), 1 << 26)
    stream = OutputStream("stdout", reads, store, None, ReadBuffer())
    if not widens:
        monkeypatch.setattr(fcntl, "fcntl", _refused)
    with subprocess.Popen(["cat", printed], stdout=writes) as printing:
        os.close(writes)
        poll = select.poll()
        poll.register(reads, select.POLLIN)
        got = 0
        while stream.open:
            assert poll.poll(60_000), "it prints no more"
            got += stream.drain()
        assert printing.wait() == 0
    stream.close()
    store.finish()
    assert got == printed.stat().st_size
    assert filecmp.cmp(printed, tmp_path / "stdout", shallow=False)
