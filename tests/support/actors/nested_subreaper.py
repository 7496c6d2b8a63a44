"""Has a child that is itself a subreaper, whose grandchild's parent has exited. All ignore SIGTERM."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    ctypes.CDLL(None).prctl(36, ctypes.c_ulong(1), 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        call(sys.argv[1], "member")
    else:
        os.waitpid(middle, 0)
        call(sys.argv[1], "member")
else:
    call(sys.argv[1], "leader")
    print("ready", flush=True)
while True:
    signal.pause()
