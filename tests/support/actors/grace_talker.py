"""Answers SIGTERM with 256 KiB of output and a last line, then dies only of SIGKILL."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call


def talk(_number: int, _frame: object) -> None:
    data = memoryview(b"x" * ((1 << 18) - 1) + b"\nduring grace\n")
    while data:
        data = data[os.write(1, data) :]


signal.signal(signal.SIGTERM, talk)
print("ready", flush=True)
call(sys.argv[1], "leader")
while True:
    signal.pause()
