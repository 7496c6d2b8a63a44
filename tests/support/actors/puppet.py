"""Does what the lines on its stdin say, one a line: print TEXT, exit CODE, close (stdout and stderr), burn SECONDS.

Calls as `leader`, and answers every line but `exit` with a call of the line itself, when it has been done.
"""

from __future__ import annotations

import os
import sys
import time

from unhang.testing.liveness import call

call(sys.argv[1], "leader")
while True:
    line = sys.stdin.readline()
    verb, _, rest = line.strip().partition(" ")
    if verb == "print":
        print(rest, flush=True)
    elif verb == "close":
        os.close(1)
        os.close(2)
    elif verb == "burn":
        end = time.monotonic() + float(rest)
        while time.monotonic() < end:
            pass
    else:  # exit, or the end of the input
        os._exit(int(rest or 0))
    call(sys.argv[1], line.strip())
