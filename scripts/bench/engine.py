"""The engine: start-up, throughput, memory, deadlines, ending a tree."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import unhang
from bench.measure import Row, in_turns, quantile, timed
from unhang.jobs.handle import Job

UNHANG = [os.path.join(os.path.dirname(sys.executable), "unhang")]
GIB = 1 << 30
MEMORY = "/dev/shm"


def _run(*words: str, home: str | None = None) -> None:
    _call("run", *words, home=home)


def _start(*command: str, home: str | None = None) -> None:
    _call("start", "--", *command, home=home)


def _call(*words: str, home: str | None) -> None:
    env = os.environ if home is None else os.environ | {"UNHANG_HOME": home}
    subprocess.run([*UNHANG, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)


def cold_start(_home: str) -> list[Row]:
    subject, reference = in_turns(
        25,
        lambda: _run("--", "true"),
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
    )
    return [Row("unhang run -- true", subject * 1e3, reference * 1e3, 4.0, "ms")]


def warm_run(_home: str) -> list[Row]:
    subject, reference = in_turns(
        100,
        lambda: unhang.run(["true"]),
        lambda: subprocess.run(["true"], capture_output=True, timeout=5, check=True),
    )
    return [Row("unhang.run(['true'])", subject * 1e3, reference * 1e3, 6.0, "ms")]


@contextmanager
def _in_memory() -> Iterator[str | None]:
    """A state directory that no disk can slow down; None where there is no such place."""
    if not os.path.ismount(MEMORY):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="unhang-bench-", dir=MEMORY) as folder:
        yield f"{folder}/state"


def throughput(_home: str) -> list[Row]:
    """Three things limit it where the budget is not met, and the note names them: pipes that are small because the
    user's share of pages is used up, a disk whose writers the kernel slows down, and other work on the same cores."""
    size = 2 * GIB
    flood = f"head -c {size} /dev/zero"
    with _in_memory() as memory:
        subject, reference, undisturbed = in_turns(
            3,
            lambda: _run("--shell", flood),
            lambda: subprocess.run(f"{flood} | cat > /dev/null", shell=True, check=True),
            lambda: None if memory is None else _run("--shell", flood, home=memory),
        )
    ends = os.pipe()
    pipe = fcntl.fcntl(ends[0], fcntl.F_GETPIPE_SZ) >> 10
    for end in ends:
        os.close(end)
    note = f"pipes of {pipe} KiB, {os.getloadavg()[0]:.1f} processes running on {os.cpu_count()} cores"
    if memory is not None:
        note += f"; with the state directory in memory {reference / undisturbed:.2f}x"
    speeds = (size / subject / 1e6, size / reference / 1e6)
    return [Row("output through unhang run", *speeds, 0.7, "MB/s", at_least=True, note=note)]


def durability(_home: str) -> list[Row]:
    """`start` prints an id when its record would survive a power cut: what waiting for the disk takes."""
    with _in_memory() as memory:
        if memory is None:
            return []
        subject, reference, unwatched = in_turns(
            15, lambda: _start("true"), lambda: _start("true", home=memory), lambda: _run("--", "true")
        )
    note = (
        f"against a state directory in memory, where a sync costs nothing; unhang run -- true: {unwatched * 1e3:.0f} ms"
    )
    return [Row("unhang start -- true", subject * 1e3, reference * 1e3, None, "ms", note=note)]


def _peak_of_keeper(size: int) -> float:
    """MiB: the highest resident memory of the keeper while `size` bytes went through it."""
    job = unhang.start(f"head -c {size} /dev/zero; read x", shell=True, stdin="pipe")
    keeper = int(job.spec["keeper"]["pid"])
    for event in job.watch():
        if event["type"] == "output" and event["offset"] + event["bytes"] >= size:
            break
    with open(f"/proc/{keeper}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    job.send("", eof=True)
    job.wait()
    return peak / 1024


def memory(_home: str) -> list[Row]:
    small, large = _peak_of_keeper(1_000_000), _peak_of_keeper(4 * GIB)
    note = f"peak of the keeper: {small:.1f} MiB for 1 MB, {large:.1f} MiB for 4 GiB"
    return [Row("memory, 1 MB to 4 GB of output", large - small, None, 2.0, "MiB", note=note)]


def deadline(_home: str) -> list[Row]:
    """How late the SIGTERM of a hard limit is, by the events' own clock."""
    late: list[float] = []
    for _ in range(60):
        result = unhang.run(["sleep", "60"], hard=0.3, warn=0, grace=1)
        assert result.timeout_reason == "exec_timeout"
        assert result.duration is not None
        late.append(result.duration - 0.3)
    return [Row("a deadline is late by (p99)", quantile(late, 0.99) * 1e3, None, 20.0, "ms")]


TREE = """
import os, sys, time
depth, width = 2, {width}
def grow(level):
    for i in range(width):
        if os.fork() == 0:
            if i % 3 == 1: os.setsid()
            if i % 3 == 2: os.setpgid(0, 0)
            if level + 1 < depth: grow(level + 1)
            else: os.write(1, b".")
            time.sleep(600); os._exit(0)
grow(0)
time.sleep(600)
"""
WIDTH = 31  # 31 + 31 * 31 + 1 = 993 processes, a third of them in sessions of their own


def _grown(job: Job) -> list[int]:
    """The pids of the whole tree, once all of it is there."""
    for event in job.watch():
        if event["type"] == "output" and event["offset"] + event["bytes"] >= WIDTH * WIDTH:
            break
    from unhang.procs.tree import descendants

    return [p.pid for p in descendants(int(job.spec["keeper"]["pid"]))]


def _tree() -> Job:
    return unhang.start([sys.executable, "-c", TREE.format(width=WIDTH)], idle="off", hard="off")


def _by_unhang() -> tuple[float, int, int]:
    job = _tree()
    pids = _grown(job)
    taken = timed(lambda: job.cancel(force=True))
    return taken, len(pids), sum(_alive(pid) for pid in pids)


def _by_a_loop() -> float:
    """A plain loop of kill over pids that are known already, until the last has gone."""
    job = _tree()
    pids = _grown(job)
    fds = [os.pidfd_open(pid) for pid in pids]
    start = time.perf_counter()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for fd in fds:
        select.select([fd], [], [])
    taken = time.perf_counter() - start
    for fd in fds:
        os.close(fd)
    job.wait()
    return taken


def _alive(pid: int) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        return not select.select([fd], [], [], 0)[0]
    finally:
        os.close(fd)


def tree_of_1000(_home: str) -> list[Row]:
    subjects, references, survivors, count = [], [], 0, 0
    for _ in range(3):
        taken, count, left = _by_unhang()
        survivors += left
        subjects.append(taken)
        references.append(_by_a_loop())
    note = f"{count} processes, {survivors} survivors; unhang finds them itself and proves that none is left"
    subject, reference = sorted(subjects)[1], sorted(references)[1]
    return [Row("ending a tree of 1000", subject * 1e3, reference * 1e3, 5.0, "ms", note=note)]
