"""Every process of it forks another and exits, or forks and stays, for ever: bounded by RLIMIT_NPROC.

The limit does not bind root, so root first becomes a user of its own with nothing else running.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time

from unhang.testing.liveness import call

MOST = 40


def my_processes() -> int:
    count = 0
    for name in os.listdir("/proc"):
        try:
            count += name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid()
        except OSError:
            continue
    return count


roll = call(sys.argv[1], "leader")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.getuid() == 0:
    os.setgroups([])
    os.setuid(1_000_000 + os.getpid())
most = my_processes() + MOST
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
# whatever goes wrong with the test, this ends
end = time.monotonic() + 60
print("ready", flush=True)
leader = os.getpid()
full = False
while time.monotonic() < end:
    try:
        child = os.fork()
    except BlockingIOError:
        if os.getpid() == leader and not full:
            full = True
            os.write(roll, f"{leader} full\n".encode())
        time.sleep(0.01)
        continue
    if child == 0:
        os.setsid()
        random.seed()
    elif os.getpid() != leader and random.random() < 0.5:
        os._exit(0)
    time.sleep(0.003)
