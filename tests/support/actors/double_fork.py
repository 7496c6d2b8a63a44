"""Makes a daemon the classical way: fork, setsid, fork, nothing of the caller's left open. Both ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 256)
    os.chdir("/")
    call(sys.argv[1], "member")
else:
    os.waitpid(middle, 0)
    call(sys.argv[1], "leader")
    print("ready", flush=True)
while True:
    signal.pause()
