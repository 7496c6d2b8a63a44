"""What a job printed, for any sequence of chunks: the first and the last part are right, the disk is bounded."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from unhang.store import output
from unhang.store.output import TAIL, OutputStore, gap_line
from unhang.store.output_reader import laid_out, read

BUDGET = 4096
HEAD = BUDGET // 2
HEADER = 4096  # the ring's own page


def stream(size: int) -> bytes:
    """Bytes whose position can be told from any few of them."""
    return b"".join(b"%08d" % i for i in range(0, size + 8, 8))[:size]


sizes = st.lists(st.integers(min_value=1, max_value=3000), max_size=12)


def used(folder: str) -> int:
    return sum(os.stat(f"{folder}/{name}").st_size for name in os.listdir(folder))


@settings(max_examples=80, deadline=None)
@given(sizes)
def test_any_chunks_leave_the_beginning_and_the_end(chunks: list[int]) -> None:
    data = stream(sum(chunks))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/stdout"
        store = OutputStore(path, BUDGET)
        at = 0
        for size in chunks:
            store.write(memoryview(data)[at : at + size])
            at += size
            assert used(folder) <= BUDGET + HEADER
            check_running(path, data[:at])
        assert (store.total, store.unstored) == (len(data), 0)
        assert store.tail() == data[-TAIL:]
        assert store.tail(10) == data[-10:]
        store.finish()
        assert os.listdir(folder) == ["stdout"]
        with open(path, "rb") as file:
            check_ended(file.read(), data)
        check_positions(path, data)


def check_running(path: str, data: bytes) -> None:
    """Every byte that is offered is the right one, at its place; the beginning is all there."""
    kept, gap = output.read_kept(path)
    assert kept.startswith(data[:HEAD])
    assert gap or kept == data
    for piece in output.pieces(path):
        assert output.read_piece(piece, 0, piece.length) == data[piece.position : piece.position + piece.length]


def check_ended(kept: bytes, data: bytes) -> None:
    if len(data) <= BUDGET:
        assert kept == data
        return
    left_out = len(data) - BUDGET
    assert kept == data[:HEAD] + gap_line(left_out) + data[-(BUDGET - HEAD) :]


def check_positions(path: str, data: bytes) -> None:
    parts = laid_out(path, total=len(data), head=HEAD)
    at = 0
    while (got := read(parts, at, 700)).data:
        assert got.offset >= at
        assert got.data == data[got.offset : got.next]
        at = got.next
    assert at == len(data)


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_a_crash_at_any_moment_loses_at_most_a_quarter_of_the_ring(chunks: list[int]) -> None:
    """Recovery joins what is there; the writer never finished."""
    data = stream(sum(chunks))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/stdout"
        store = OutputStore(path, BUDGET)
        at = 0
        for size in chunks:
            store.write(memoryview(data)[at : at + size])
            at += size
        output.join(path)
        with open(path, "rb") as file:
            kept = file.read()
        assert not os.path.exists(output.ring_path(path))
        assert kept.startswith(data[:HEAD])
        ring = BUDGET - HEAD
        assert kept.endswith(data[HEAD:][-(ring * 3 // 4) :])
        output.join(path)  # again: a second join changes nothing
        with open(path, "rb") as file:
            assert file.read() == kept
        store._close_head()
        if store._ring.used:
            store._ring.close()


def test_an_empty_stream_is_an_empty_file(tmp_path: os.PathLike[str]) -> None:
    path = f"{os.fspath(tmp_path)}/stdout"
    OutputStore(path, BUDGET).finish()
    assert output.read_kept(path) == (b"", False)


def test_a_stream_that_is_not_there_has_nothing(tmp_path: os.PathLike[str]) -> None:
    assert output.read_kept(f"{os.fspath(tmp_path)}/stdout") == (b"", False)


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: os.PathLike[str]) -> None:
    folder = os.fspath(tmp_path)
    os.symlink(f"{folder}/victim", f"{folder}/stdout")
    store = OutputStore(f"{folder}/stdout", BUDGET)
    store.write(memoryview(b"data"))
    store.finish()
    assert not os.path.exists(f"{folder}/victim")


def test_the_last_words_of_a_stream_with_the_largest_budget_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in the middle, for what is missing, comes on top of it."""
    for name, size in (("BUDGET", BUDGET), ("LARGEST_BUDGET", 4 * BUDGET), ("_BESIDE", 100)):
        monkeypatch.setattr(output, name, size, raising=False)
    data = stream(10 * BUDGET)
    path = str(tmp_path / "stdout")
    store = OutputStore(path, 4 * BUDGET)
    store.write(memoryview(data))
    store.finish()
    kept, _ = output.read_kept(path)
    assert kept.endswith(data[-2 * BUDGET :])
