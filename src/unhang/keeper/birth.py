"""Brings a guard and a keeper into the world: two forks of this process, which must have one thread only.

    caller ── guard (subreaper, own session, only waits) ── keeper (subreaper) ── the job (own session)

The guard keeps its copy of the owner's line open, so that the caller sees it close only when the end of the job,
even its loss, has been recorded.
"""

from __future__ import annotations

import gc
import os

from unhang.keeper import guard as guards
from unhang.keeper.main import Launch, keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def launch(request: Launch, in_child: Callable[[], None] | None = None) -> int:
    """Fork; the pid of the guard, which is this process's child. `in_child` runs first in there."""
    gc.freeze()  # what exists now is shared with the children for good; the collector must not touch it there
    pid = os.fork()
    if pid:
        return pid
    # Nothing below may return or raise into the caller's code: this is another process now.
    status = 70
    try:
        if in_child is not None:
            in_child()
        _be_guard(request)
        status = 0
    finally:
        os._exit(status)


def _be_guard(request: Launch) -> None:
    os.setsid()
    tree = guards.make_guarded_tree()
    me = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        status = 70
        try:
            gc.enable()
            _keep_descriptors(request)
            keep(request, me)
            status = 0
        finally:
            os._exit(status)
    _let_go(request)
    guards.guard(request.place, tree, keeper)


def _keep_descriptors(request: Launch) -> None:
    """A background keeper must hold nothing of its caller: a pipe held open would make the caller's reader wait."""
    if request.spec.foreground:
        return
    keep_open = {fd for fd in (request.stdin, request.stdout, request.stderr) if fd is not None and fd > 2}
    if request.owner is not None:
        keep_open.add(request.owner.fileno())
    _close_all_but(keep_open)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        if fd not in (request.stdin, request.stdout, request.stderr):
            os.dup2(null, fd, inheritable=True)
    if null > 2:
        os.close(null)


def _let_go(request: Launch) -> None:
    """The guard needs no descriptor but its copy of the owner's line."""
    _close_all_but(set() if request.owner is None else {request.owner.fileno()})
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd, inheritable=True)
    if null > 2:
        os.close(null)


def _close_all_but(keep_open: set[int]) -> None:
    low = 3
    for fd in sorted(keep_open):
        os.closerange(low, fd)
        low = max(low, fd + 1)
    os.closerange(low, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") > 0 else 1 << 16)
