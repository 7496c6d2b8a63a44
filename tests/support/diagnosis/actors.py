"""Small real processes to look at, each ended through its own handle."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from unhang.procs.linux.procfs import read

# A bound for what comes soon, on a machine where it may get a twentieth of a core.
WITHIN = 60.0


@contextmanager
def actor(source: str, *args: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program that prints READY and then does what it is about."""
    argv = [sys.executable, "-u", "-c", source, *args]
    with command(argv, **options) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == b"READY\n", line
        yield process


@contextmanager
def command(argv: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    settings: dict[str, object] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
    process: subprocess.Popen[bytes] = subprocess.Popen(argv, **settings)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def until_blocked(pid: int, *calls: str, tid: int | None = None) -> None:
    """The kernel has no event for "now it sleeps in this call": look, with a bound."""
    from unhang.procs.linux.sampler.threads import syscall_table

    numbers = {str(number).encode() for number, name in syscall_table().items() if name in calls}
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        words = read(f"/proc/{pid}/task/{tid or pid}/syscall").split()
        if words and words[0] in numbers:
            return
        time.sleep(0.005)
    raise AssertionError(f"{pid} is not in {calls}: {words!r}")


def until_state(pid: int, state: str) -> None:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        line = read(f"/proc/{pid}/stat")
        if line[line.rfind(b")") + 2 :][:1] == state.encode():
            return
        time.sleep(0.005)
    raise AssertionError(f"{pid} is not in state {state}")
