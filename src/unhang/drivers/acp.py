"""`python -m unhang.drivers.acp`: the leader of the job of an ACP agent."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import sys
import termios
import time
from dataclasses import replace

from unhang.drivers.acp_plan import FROM_STDIN, parsed
from unhang.drivers.voice import VARIABLE, Voice

# A keeper reads at once; one that does not is not waited for.
_HEARD_WITHIN = 2.0
_BETWEEN_LOOKS = 0.002


def main(words: list[str]) -> int:
    number = os.environ.get(VARIABLE, "")
    voice = Voice()
    plan = parsed(words)
    if plan.tasks[0] == FROM_STDIN:
        plan = replace(plan, tasks=(sys.stdin.read(), *plan.tasks[1:]))
    from unhang.drivers.acp_drive import AcpDriver

    async def drive() -> int:
        return await AcpDriver(plan, voice).run()

    try:
        return asyncio.run(drive())
    finally:
        if number.isdigit():
            _until_heard(int(number))


def _until_heard(fd: int) -> None:
    """Our last words are how the turn went: whoever leaves with them in the pipe may not be asked for them again."""
    until = time.monotonic() + _HEARD_WITHIN
    try:
        while time.monotonic() < until and struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]:
            time.sleep(_BETWEEN_LOOKS)  # a pipe does not say when it has been emptied
    except OSError:
        pass  # the keeper is gone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
