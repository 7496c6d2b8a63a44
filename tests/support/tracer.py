"""`python -m tests.support.tracer PID…`: holds processes as a debugger at a breakpoint does, until stdin ends.

A process that is held so takes no signal but SIGKILL; and once it is dead, its parent cannot reap it.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.places import ROOT

_SEIZE, _INTERRUPT = 0x4206, 0x4207
_WALL = 0x40000000


@contextmanager
def traced(*pids: int) -> Iterator[None]:
    """Hold these processes, in this order."""
    words = [sys.executable, "-m", "tests.support.tracer", *map(str, pids)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as tracer:
        assert tracer.stdin is not None
        assert tracer.stdout is not None
        try:
            assert tracer.stdout.readline() == b"held\n"
            yield
        finally:
            tracer.stdin.close()


def _hold(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (_SEIZE, _INTERRUPT):
        if libc.ptrace(ctypes.c_long(request), pid, ctypes.c_void_p(), ctypes.c_void_p()):
            raise OSError(ctypes.get_errno(), f"ptrace {request:x}")
    os.waitpid(pid, _WALL)


if __name__ == "__main__":
    for _pid in sys.argv[1:]:
        _hold(int(_pid))
    os.write(1, b"held\n")
    os.read(0, 1)
