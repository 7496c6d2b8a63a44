"""Answers SIGTERM, and the death of its child, with another child in a session of its own."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

NEWS = (signal.SIGTERM, signal.SIGCHLD)


def child() -> None:
    if os.fork() == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NEWS)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        call(sys.argv[1], "member")
        while True:
            signal.pause()


signal.pthread_sigmask(signal.SIG_BLOCK, NEWS)
call(sys.argv[1], "leader")
child()
print("ready", flush=True)
while True:
    signal.sigwait(NEWS)
    child()
