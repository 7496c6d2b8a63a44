"""Its first thread ends, so that /proc calls it a zombie; another one lives on. It ignores SIGTERM."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

from unhang.testing.liveness import call

signal.signal(signal.SIGTERM, signal.SIG_IGN)
EXIT_THREAD = {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def goes_on() -> None:
    with open("/proc/self/stat", encoding="ascii") as file:
        while file.read().rpartition(")")[2].split()[0] != "Z":
            file.seek(0)
    call(sys.argv[1], "leader")
    print("ready", flush=True)
    threading.Event().wait()


libc = ctypes.CDLL(None)
threading.Thread(target=goes_on).start()
libc.syscall(EXIT_THREAD, 0)
