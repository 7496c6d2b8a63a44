"""Has a daemon with an empty environment: nothing of the caller's marks in it. Both ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
roll = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    call(roll, "member")
    os.execve("/bin/sleep", ["sleep", "1000"], {})
call(roll, "leader")
print("ready", flush=True)
while True:
    signal.pause()
