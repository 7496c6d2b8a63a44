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
try:
    print("ready", flush=True)
except OSError:
    pass  # its keeper was killed meanwhile: it lives on all the same
while True:
    signal.pause()
