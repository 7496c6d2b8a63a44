"""Keeps the keeper's seats and the queue before them full, from N processes: connects again and again, asks nothing.

Usage: crowder.py ROLL N. The job's own process does it, so it may: it is the same user.
"""

from __future__ import annotations

import os
import socket
import sys

from unhang.testing.liveness import call

path = f"{os.environ['UNHANG_HOME']}/jobs/{os.environ['UNHANG_JOB']}"
here = os.open(path, os.O_RDONLY)
for number in range(int(sys.argv[2])):
    if number and os.fork() == 0:
        break
held: list[socket.socket] = []
full = False
while True:
    line = socket.socket(socket.AF_UNIX)
    line.setblocking(False)
    try:
        line.connect(f"/proc/self/fd/{here}/control")
        held.append(line)
    except OSError:
        line.close()
        if not full:
            full = True
            call(sys.argv[1], "full")
    if len(held) > 220:
        held.pop(0).close()
