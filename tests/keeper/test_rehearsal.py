"""A keeper rehearses a whole job before it has one, and leaves nothing of that."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from tests.support.places import SOURCE
from unhang.core import outcome
from unhang.keeper import rehearsal
from unhang.keeper.streams import OutputStream, ReadBuffer
from unhang.store.output import OutputStore


def test_a_rehearsed_job_goes_through_the_loop_to_its_end() -> None:
    facts = rehearsal.rehearse(ReadBuffer())
    assert facts is not None
    assert (facts.ending, facts.exit_code) == ("exited", 0)
    assert outcome.ended(facts).phase == "completed"


def test_a_rehearsal_leaves_no_descriptor_and_no_file(tmp_path: Path) -> None:
    before, folder = sorted(os.listdir("/proc/self/fd")), os.getcwd()
    os.chdir(tmp_path)
    try:
        rehearsal.rehearse(ReadBuffer())
    finally:
        os.chdir(folder)
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.iterdir()) == []


WITHOUT_DESCRIPTORS = """
import os, resource
from unhang.keeper.rehearsal import rehearse
from unhang.keeper.streams import ReadBuffer
rehearse(ReadBuffer())
used = len(os.listdir("/proc/self/fd"))
for more in range(12):
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    before = os.listdir("/proc/self/fd") if more > 2 else None
    rehearse(ReadBuffer())
    assert before is None or os.listdir("/proc/self/fd") == before
"""


def test_a_keeper_without_descriptors_does_without_a_rehearsal() -> None:
    subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.append({str(SOURCE)!r})\n{WITHOUT_DESCRIPTORS}"],
        check=True,
        timeout=60,
    )


def test_after_a_rehearsal_a_job_touches_little_memory_for_the_first_time() -> None:
    """Each page costs a fault, of a microsecond or two. A forked process that goes through a job for the second time
    touches hardly any that is new."""
    rehearsal.rehearse(ReadBuffer())  # imports, caches

    def faults() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        buffer = ReadBuffer()
        counts = [faults()]
        for _ in range(2):
            rehearsal.rehearse(buffer)
            counts.append(faults())
        os.write(writes, f"{counts[1] - counts[0]} {counts[2] - counts[1]}".encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as stream:
        first, second = map(int, stream.read().split())
    os.waitpid(child, 0)
    assert first > 5 * max(1, second)


def test_two_streams_that_share_a_buffer_keep_what_each_has_printed(tmp_path: Path) -> None:
    buffer = ReadBuffer()
    streams, ends = [], []
    for name in ("stdout", "stderr"):
        reads, writes = os.pipe()
        os.set_blocking(reads, False)
        streams.append(OutputStream(name, reads, OutputStore(str(tmp_path / name)), None, buffer))
        ends.append(writes)
    for turn in range(3):
        for number, writes in enumerate(ends):
            os.write(writes, b"%d%d " % (turn, number) * (1000 * (2 - number)))
        for stream in streams:
            stream.drain()
    for stream, writes in zip(streams, ends, strict=True):
        os.close(writes)
        stream.close()
        stream.store.finish()
    for number, name in enumerate(("stdout", "stderr")):
        expected = b"".join(b"%d%d " % (turn, number) * (1000 * (2 - number)) for turn in range(3))
        assert (tmp_path / name).read_bytes() == expected
