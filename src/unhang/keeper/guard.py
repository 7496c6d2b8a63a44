"""The guard: an idle process above the keeper, for the one case that the keeper cannot handle, its own death.

It is a subreaper too. If the keeper is killed, what the keeper owned becomes the guard's: it ends all of it and
records the loss at once. While the keeper lives it does nothing but wait, in one system call.
"""

from __future__ import annotations

import os
import signal
import time

from unhang.keeper import spare
from unhang.procs import clock
from unhang.procs.platform import make_tree
from unhang.store.layout import JobDir
from unhang.store.recovery import record_loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

    from unhang.procs.base import Tree

# between rounds of SIGKILL while something does not die (another user's process, the kernel holds it)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 1.0


def guard(line: socket, tree: Tree, keeper: int) -> None:
    """Returns when the job is over and nothing of it is left. What the job is waits in `line` until it matters."""
    _, status = os.waitpid(keeper, 0)
    ended = end_all(tree)
    if status != 0:
        received = spare.receive(line)
        if received is not None:
            place = JobDir(received[0]["home"], received[0]["id"])
            record_loss(place, ended, how=_how(status), stamp=clock.now)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"its keeper was ended by {signal.Signals(-code).name}" if code < 0 else f"its keeper failed ({code})"


def end_all(tree: Tree) -> list[int]:
    """SIGKILL until the kernel says that nothing is left; everybody who was ended."""
    pids: dict[int, None] = {}
    pause = _FIRST_PAUSE
    while not tree.reap().empty:
        done = tree.signal((signal.SIGKILL,))
        pids.update(dict.fromkeys(p.pid for p in done.reached))
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    return list(pids)


def make_guarded_tree() -> Tree:
    tree = make_tree()
    tree.adopt()
    return tree
