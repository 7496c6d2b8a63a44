"""A small process beside this one that acts when this one dies: a pipe connects them, and closes with either.

It is in a session of its own, so that a signal to our process group does not reach it.
"""

from __future__ import annotations

import os

from unhang.procs import executable


def start(module: str, known: bytes) -> tuple[int, int]:
    """Start `main(known, line)` of a module in a process of its own; return its pid and our end of its pipe.

    `main` is given two descriptors. `known` is what it has to know first, in a file, because it may be more than a pipe
    takes without a reader. `line` is the pipe, whose writing end is ours and never blocks.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    first = os.memfd_create("unhang-known")
    theirs, ours = os.pipe2(os.O_CLOEXEC)
    try:
        with open(first, "wb", closefd=False) as file:
            file.write(known)
        os.lseek(first, 0, os.SEEK_SET)
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((first, theirs, null))]
        command = executable.isolated(f"from {module} import main; main(0, 1)", site=False)
        pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions, setsid=True)
        os.set_blocking(ours, False)
    except BaseException:
        os.close(ours)
        raise
    finally:
        for fd in (theirs, first, null):
            os.close(fd)
    return pid, ours


def tell(line: int, said: bytes) -> bool:
    """Write a line to the process; return False if it has ended, or does not read."""
    try:
        return line >= 0 and os.write(line, said) == len(said)
    except OSError:  # EPIPE, EAGAIN
        return False
