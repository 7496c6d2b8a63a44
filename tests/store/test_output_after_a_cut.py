"""A power cut leaves of each page any version since the last sync: only what the job has printed may be read then.

The disk is a model: it remembers every version of every page of the ring, and forgets the older ones when it is synced.
A cut is one choice for each page.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.store.test_output_store import stream
from unhang.store import files, output
from unhang.store.output import OutputStore

PAGE = 4096
BUDGET = 16 * PAGE
HEAD = BUDGET // 2
RING = BUDGET - HEAD

written = st.integers(min_value=1, max_value=3 * PAGE)
prints = st.lists(written, max_size=3)
# A sync of the ring is two of the file, and may take so long that the job prints again and again meanwhile.
synced = st.tuples(prints, prints)
operations = st.lists(st.one_of(written, synced), max_size=25)


class PowerCutError(Exception):
    """While a sync was under way."""


class Disk:
    def __init__(self, path: str) -> None:
        self.path = path
        self.head = 0  # so much of the first part is there in any case
        self.versions: list[bytes] = []  # of the ring, since it was last synced
        self.during_sync: list[list[int]] = []
        self.syncs = 0
        self.last_sync = -1
        self.store = OutputStore(path, BUDGET)
        self.printed = 0

    def print(self, size: int) -> None:
        data = stream(self.printed + size)
        self.store.write(memoryview(data)[self.printed :])
        self.printed += size

    def follow(self, steps: list[Any]) -> None:
        for step in steps:
            if isinstance(step, int):
                self.print(step)
            else:
                self.during_sync = [list(part) for part in step]
                self.store.sync()

    def ring(self) -> bytes:
        with open(output.ring_path(self.path), "rb") as file:
            return file.read()

    def pwrite(self, fd: int, data: Any, offset: int) -> int:
        done = os.pwrite(fd, data, offset)
        self.versions.append(self.ring())
        return done

    def sync(self, fd: int) -> None:
        """Of the ring: what was there when it began is on the disk when it ends; what came meanwhile may be."""
        begun = len(self.versions)
        self.versions.append(self.ring())
        if fd != self.store._ring._fd and self.during_sync:  # else it is the writer itself that waits for it
            for size in self.during_sync.pop(0):
                self.print(size)
            self.syncs += 1
            if self.syncs == self.last_sync:
                raise PowerCutError
        self.versions = self.versions[begun:]

    def sync_path(self, path: str) -> None:
        self.head = os.path.getsize(path)

    def cut(self, choices: random.Random, folder: str) -> str:
        """The files as the machine finds them when it comes up again."""
        found = f"{folder}/stdout"
        with open(self.path, "rb") as head, open(found, "wb") as copy:
            data = head.read()
            copy.write(data[: choices.randint(self.head, len(data))])
        if self.versions:
            with open(output.ring_path(found), "wb") as ring:
                for at in range(0, PAGE + RING, PAGE):
                    version = choices.choice([self.versions[0], self.versions[-1], choices.choice(self.versions)])
                    ring.write(version[at : at + PAGE])
        return found


@contextmanager
def machine(folder: str) -> Iterator[Disk]:
    disk = Disk(f"{folder}/stdout")
    names = {name: getattr(os, name) for name in dir(os)} | {"pwrite": disk.pwrite}
    with (
        mock.patch.object(output, "os", SimpleNamespace(**names)),
        mock.patch.object(files, "sync", disk.sync),
        mock.patch.object(files, "sync_path", disk.sync_path),
    ):
        yield disk


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0, HEAD + 1, HEAD + RING, HEAD + 3 * RING + 77]),
    operations,
    st.integers(1, 20),
    st.integers(0, 1 << 32),
)
def test_whatever_a_cut_leaves_only_what_was_printed_is_read(
    before: int, steps: list[Any], last_sync: int, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as after:
        with machine(folder) as disk:
            disk.print(before)
            disk.last_sync = last_sync
            try:
                disk.follow(steps)
            except PowerCutError:
                pass
            found = disk.cut(random.Random(seed), after)
        printed = output.join(found, cut=True)
        assert printed <= disk.printed
        with open(found, "rb") as file:
            check(file.read(), stream(disk.printed))
        disk.store.finish()


def check(kept: bytes, data: bytes) -> None:
    """A prefix of what was printed; or the first part, then perhaps a gap with its true length, then what followed."""
    if data.startswith(kept):
        return
    assert kept.startswith(data[:HEAD])
    found = re.match(rb"\n\[unhang: (\d+) bytes left out here\]\n", kept[HEAD:])
    left_out, rest = (int(found.group(1)), kept[HEAD + found.end() :]) if found else (0, kept[HEAD:])
    assert data.startswith(rest, HEAD + left_out), f"never printed: {rest[:100]!r} … {rest[-100:]!r}"


def test_what_was_synced_in_a_calm_is_there_after_a_cut(tmp_path: os.PathLike[str]) -> None:
    folder = os.fspath(tmp_path)
    os.mkdir(f"{folder}/after")
    with machine(folder) as disk:
        for _ in range(100):
            disk.print(1000)
            disk.store.sync()
        disk.print(1000)
        found = disk.cut(random.Random(1), f"{folder}/after")
    assert output.join(found, cut=True) >= 100_000
    with open(found, "rb") as file:
        assert stream(100_000)[-(RING * 3 // 4) + 1000 :] in file.read()
    disk.store.finish()


@pytest.mark.parametrize("seed", range(20))
def test_after_a_cut_during_a_sync_only_what_was_printed_is_read(tmp_path: os.PathLike[str], seed: int) -> None:
    """Both numbers must be honoured then: a quarter is counted from the older one."""
    folder = os.fspath(tmp_path)
    os.mkdir(f"{folder}/after")
    quarter = RING // 4
    with machine(folder) as disk:
        disk.print(HEAD + 3 * RING)
        disk.last_sync = 4
        with pytest.raises(PowerCutError):
            disk.follow([([], []), quarter * 9 // 10, ([], [quarter * 8 // 10])])
        found = disk.cut(random.Random(seed), f"{folder}/after")
    output.join(found, cut=True)
    with open(found, "rb") as file:
        check(file.read(), stream(disk.printed))
    disk.store.finish()


def test_a_join_that_was_interrupted_is_done_again_and_nothing_is_there_twice(tmp_path: os.PathLike[str]) -> None:
    path = f"{os.fspath(tmp_path)}/stdout"
    store = OutputStore(path, BUDGET)
    data = stream(HEAD + 5000)
    store.write(memoryview(data))
    with open(path, "ab") as file:
        file.write(data[HEAD : HEAD + 1234])
    output.join(path)
    with open(path, "rb") as file:
        assert file.read() == data
    store.finish()  # the ring has gone meanwhile
    with open(path, "rb") as file:
        assert file.read() == data
