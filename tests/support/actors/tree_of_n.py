"""A tree of N processes: a third of them in sessions, a third in groups of their own. All ignore SIGTERM."""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
call(sys.argv[1], "leader")
print("building", flush=True)
for i in range(int(sys.argv[2]) - 1):
    if i % 3 == 0:
        os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}, setsid=True)
    elif i % 3 == 1:
        os.posix_spawn("/bin/sleep", ["sleep", "1000"], {}, setpgroup=0)
    else:
        os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
    if i % 20 == 0:
        print(i, flush=True)
call(sys.argv[1], "complete")
print("ready", flush=True)
while True:
    signal.pause()
