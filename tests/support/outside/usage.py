"""A program run to its end, and what it used of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# On any machine: what takes longer hangs.
_PATIENCE = 60.0
# A small process counts: the kernel takes what a process had before it became another program for that one's.
_COUNTER = """\
import os, resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), f"{used.ru_maxrss} {used.ru_utime + used.ru_stime}".encode())
sys.exit(done.returncode)
"""


class Used(NamedTuple):
    code: int
    out: bytes
    err: bytes
    megabytes: float  # the most that one process of it had at once
    seconds: float  # of the processor


def used(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Used:
    read, write = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", _COUNTER, str(write), *words]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=dict(env), capture_output=True, check=False, timeout=_PATIENCE, pass_fds=[write]
        )
    finally:
        os.close(write)
        with open(read, "rb") as told:
            kilobytes, seconds = told.read().split() or (b"0", b"0")
    return Used(done.returncode, done.stdout, done.stderr, int(kilobytes) / 1024, float(seconds))
