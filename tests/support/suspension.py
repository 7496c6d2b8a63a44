"""`python -m tests.support.suspension FLAG WORDS…`: `unhang WORDS`, whose keeper finds that an hour was slept through.

It happens when the file FLAG is there, as often as it is made: the keeper enters a time namespace in which the clock
that counts suspended time is an hour ahead and the one that does not is where it was. The file is removed then.
"""

from __future__ import annotations

import ctypes
import os
import sys

from unhang.faces.cli.main import run
from unhang.keeper.loop import Loop

HOUR = 3600
_CLONE_NEWTIME = 0x80


def sleep_an_hour() -> None:
    """Let an hour have passed in which the machine was suspended, as far as this process can tell."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWTIME):
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/self/timens_offsets", "w") as offsets:
        offsets.write(f"boottime {HOUR} 0\n")
    entered = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    if libc.setns(entered, _CLONE_NEWTIME):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(entered)


def _suspended_on(flag: str) -> None:
    asleep = Loop._sleep

    def sleep(self: Loop, seconds: float | None) -> dict[int, int]:
        ready = asleep(self, seconds)
        if os.path.exists(flag):
            sleep_an_hour()
            os.unlink(flag)
        return ready

    Loop._sleep = sleep  # type: ignore[method-assign]


if __name__ == "__main__":
    _suspended_on(sys.argv[1])
    sys.exit(run(sys.argv[2:]))
