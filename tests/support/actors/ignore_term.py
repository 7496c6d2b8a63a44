"""Ignores every signal that can be ignored; prints `ready` and stays for ever."""

from __future__ import annotations

import signal
import sys

from unhang.testing.liveness import call

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
call(sys.argv[1], "leader")
while True:
    signal.pause()
