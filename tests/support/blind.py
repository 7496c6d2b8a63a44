"""Run as a program: owns a tree, loses the means to see it, ends it, and prints what it knew of it as JSON.

python -m tests.support.blind descriptors     no file can be opened any more
python -m tests.support.blind hidden          a grandchild that /proc does not show (mounted with hidepid=2)
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from unhang.procs import identity
from unhang.procs.base import UNKNOWN
from unhang.procs.linux.tree import LinuxTree

PR_SET_DUMPABLE = 4


def stay(also: Callable[[], None] = lambda: None) -> None:
    """Never returns; `also` is done first."""
    also()
    while True:
        signal.pause()


def hide() -> None:
    """A process that may not be dumped belongs to root in /proc: hidepid does not show it to its own user."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def plant(grandchild: Callable[[], None], ready: int) -> None:
    """A leader with a child in its group; and a child in a session of its own, which has one too."""
    os.setsid()
    if os.fork() == 0:
        os.write(ready, b"1")
        stay()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            grandchild()
            os.write(ready, b"1")
            stay()
        stay()
    stay()


def main(what: str) -> dict[str, Any]:
    tree = LinuxTree()
    tree.adopt()
    reads, writes = os.pipe()
    leader = os.fork()
    if leader == 0:
        plant(hide if what == "hidden" else lambda: None, writes)
    tree.spawned(leader)
    heard = b""
    while len(heard) < 2:
        heard += os.read(reads, 2)
    if what == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    seen = tree.survey()
    first = tree.signal((signal.SIGKILL,))
    rounds = 1
    while not tree.reap().empty:
        tree.signal((signal.SIGKILL,))
        rounds += 1
    return {
        "known": len(seen.found),
        "unknown": [p.pid for p in seen.found if p.start == UNKNOWN],
        "unseen": seen.unseen,
        "reached": len(first.reached),
        "denied": len(first.denied),
        "group": first.group == leader,
        "rounds": rounds,
        "visible": identity.find(os.getpid()) is not None,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
