"""Output by position in the stream: the beginning, what is left out, and the end, while it runs and afterwards."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.jobs import check_log, wait_until
from unhang.core.limit_request import LimitRequest
from unhang.jobs.handle import Job
from unhang.jobs.request import prepare
from unhang.jobs.start import start
from unhang.store.output import OutputPiece, OutputStore, gap_line, pieces, read_kept
from unhang.store.output_reader import laid_out, read

_BUDGET = 64 << 10
_HEAD = _BUDGET // 2


def _numbered(count: int) -> bytes:
    """Every byte tells where it stands."""
    return b"".join(b"%015d\n" % n for n in range(count // 16 + 1))[:count]


def _start(command: list[str]) -> Job:
    return start(prepare(command, stdin="pipe", foreground=False, budget=_BUDGET, asked=LimitRequest(idle=0.0)))


@pytest.mark.parametrize("count", [0, 10, _HEAD - 1, _HEAD, _HEAD + 1, _BUDGET, _BUDGET + 1, 10 * _BUDGET + 7])
def test_bytes_are_found_by_position_while_it_runs_and_after_the_end(tmp_path: Path, count: int) -> None:
    whole = _numbered(count)
    (tmp_path / "flood").write_bytes(whole)
    job = _start(["sh", "-c", f"cat '{tmp_path / 'flood'}'; read go; exit 0"])
    if count:
        wait_until(lambda: job.printed() == count, "all is stored")
    _check(job, whole, least=_HEAD // 2)
    job.send("\n")
    assert job.wait().ok
    _check(job, whole, least=_HEAD - 16)
    assert job.result().truncated == (count > _BUDGET)
    assert not os.path.exists(job.place.stream("stdout.tail"))
    assert check_log(job.place)[-1]["bytes"]["stdout"] == count


def _check(job: Job, whole: bytes, *, least: int) -> None:
    """Each byte that is given is the right one; the beginning is all there, and so is the end."""
    offset, got = 0, 0
    while True:
        piece = job.output("stdout", offset, 5000)
        if not piece.data:
            break
        assert piece.offset >= offset
        assert piece.data == whole[piece.offset : piece.next]
        offset, got = piece.next, got + len(piece.data)
    assert offset == len(whole)
    assert got >= min(len(whole), _HEAD + least)
    assert job.output("stdout", 0, 100).data == whole[:100]
    assert job.output("stdout", len(whole)).data == b""
    assert job.output("stdout", len(whole) + 10**9).data == b""
    middle = len(whole) // 2
    assert job.output("stdout", middle).offset >= middle


def test_a_lost_job_keeps_both_ends_by_position(tmp_path: Path) -> None:
    whole = _numbered(5 * _BUDGET)
    (tmp_path / "flood").write_bytes(whole)
    job = _start(["sh", "-c", f"cat '{tmp_path / 'flood'}'; read go"])
    wait_until(lambda: job.printed() == len(whole), "all is stored")
    os.kill(int(job.spec["keeper"]["pid"]), 9)
    result = job.wait()
    assert (result.status, result.truncated) == ("error", True)
    assert "left out" in result.stdout
    _check(job, whole, least=_HEAD // 2)


@settings(max_examples=60)
@example([98], 64)  # 34 bytes are left out, and the line that says so has 34
@given(st.lists(st.integers(0, 700), max_size=40), st.integers(64, 2048))
def test_whatever_is_written_reads_back_right_at_any_moment(writes: list[int], budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/stdout"
        store = OutputStore(path, budget)
        whole = _numbered(sum(writes))
        at = 0
        for count in writes:
            store.write(memoryview(whole[at : at + count]))
            at += count
            parts = pieces(path)
            _reads_back(parts, whole[:at])
            assert store.total == at
            assert store.tail() == whole[:at][-(64 << 10) :]
        store.finish()
        data, _ = read_kept(path)
        assert len(data) <= budget + len(gap_line(10**6))
        if at <= budget:
            assert data == whole
        else:
            _reads_back(laid_out(path, total=at, head=budget // 2), whole)


def _reads_back(parts: list[OutputPiece], whole: bytes) -> None:
    offset = 0
    while (piece := read(parts, offset, 333)).data:
        assert piece.data == whole[piece.offset : piece.next]
        offset = piece.next
    assert offset == len(whole)


def test_both_streams_of_a_flood_are_bounded_on_disk() -> None:
    job = _start(["sh", "-c", "head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2"])
    assert job.wait().truncated
    for name in ("stdout", "stderr"):
        assert os.path.getsize(job.place.stream(name)) <= _BUDGET + 100
