"""Exits with the code given, and leaves a daemon that holds its output until somebody writes to the FIFO `gate`.

Usage: leaver.py ROLL CODE GATE. Then the daemon prints `late` and ends.
"""

from __future__ import annotations

import os
import signal
import sys

from unhang.testing.liveness import call

roll, code, gate = sys.argv[1:]
print("early", flush=True)
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    call(roll, "member")
    with open(gate) as waiting:
        waiting.read()
    print("late", flush=True)
    os._exit(0)
os._exit(int(code))
