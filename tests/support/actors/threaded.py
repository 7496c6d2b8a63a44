"""Its child was forked by a thread that lives on: /proc lists it under that thread. Both ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
import threading

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)


def forks() -> None:
    if os.fork() == 0:
        os.setsid()
        call(sys.argv[1], "member")
        while True:
            signal.pause()
    threading.Event().wait()


threading.Thread(target=forks).start()
call(sys.argv[1], "leader")
print("ready", flush=True)
while True:
    signal.pause()
