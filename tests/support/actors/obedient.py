"""Ends on SIGTERM or SIGINT, after a last word; prints `ready` and stays for ever."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call


def last_word(_number: int, _frame: object) -> None:
    os.write(1, b"last word\n")
    os._exit(0)


signal.signal(signal.SIGTERM, last_word)
signal.signal(signal.SIGINT, last_word)
print("ready", flush=True)
call(sys.argv[1], "leader")
while True:
    signal.pause()
