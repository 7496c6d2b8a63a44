"""A program on a terminal: says what it sees (size, ttys), then its size on SIGWINCH, `interrupted` on Ctrl-C, and
echoes what is typed until the end of the input."""

from __future__ import annotations

import os
import signal
import sys


def size() -> str:
    columns, rows = os.get_terminal_size(0)
    return f"{rows}x{columns}"


def resized(_number: int, _frame: object) -> None:
    os.write(1, f"size {size()}\n".encode())


def interrupted(_number: int, _frame: object) -> None:
    os.write(1, b"interrupted\n")


signal.signal(signal.SIGWINCH, resized)
signal.signal(signal.SIGINT, interrupted)
ttys = "".join(str(int(os.isatty(fd))) for fd in range(3))
session = "own" if os.getsid(0) == os.getppid() and os.tcgetpgrp(0) == os.getpgrp() == os.getpid() else "foreign"
os.write(1, f"ttys {ttys} session {session} size {size()}\n".encode())
for line in sys.stdin:
    os.write(1, f"typed {line.strip()}\n".encode())
os.write(1, b"end of input\n")
