"""Has a child in a session of its own; both ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    call(sys.argv[1], "member")
else:
    call(sys.argv[1], "leader")
    print("ready", flush=True)
while True:
    signal.pause()
