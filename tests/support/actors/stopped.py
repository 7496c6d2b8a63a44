"""Has a child that is stopped (SIGSTOP) when it calls. `ignore`: both also ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

if sys.argv[2:] == ["ignore"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    call(sys.argv[1], "member")
    os.setsid()
    while True:
        os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
call(sys.argv[1], "leader")
print("ready", flush=True)
while True:
    signal.pause()
