"""A small process that makes keepers for a long-lived one.

Forking a process with threads copies locks that no thread will ever release. So a library, a server or an editor plugin
keeps this one-threaded helper, hands it each job with its descriptors, and never forks itself. One spare guard and
keeper are always ready, so a job starts without waiting for a fork. The server lives as long as its client holds the
line; background jobs outlive both.

A request is what a spare takes (spare.py), passed on as it is. There is no answer: the owner's line tells everything,
and closes if nothing came of it.
"""

from __future__ import annotations

import os
import signal
from _socket import socket

from unhang.keeper.prefork import spare

# Python calls code hot after some eight rounds.
_TIMES = 12


def main(line_fd: int) -> None:
    """Serve one client over the socket `line_fd` until it closes; then return."""
    line = socket(fileno=line_fd)
    os.set_inheritable(line_fd, False)
    # a guard is our child: the kernel may forget it, its status is never asked for
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _preload()
    ready = spare.make(line.close)
    warm = False
    while True:
        received = spare.receive_raw(line)
        if received is None:
            ready.let_go()
            return
        message, fds = received
        try:
            ready.give(message, fds)
        except OSError:  # it was killed while it waited
            ready = spare.make(line.close)
            ready.give(message, fds)
        for fd in fds:
            os.close(fd)
        if not warm:  # once: it looks at all processes, which grow with every job
            _preload_the_rest()
            warm = True
        ready = spare.make(line.close)


def _preload() -> None:
    """Load what every keeper needs."""
    from unhang.keeper import main
    from unhang.keeper.prefork import guard
    from unhang.procs.tree import make_tree

    del guard, main
    make_tree()


def _preload_the_rest() -> None:
    """Load what a keeper needs when its job goes quiet: all keepers share it, and the first job does not wait for it.

    The code is run a few times, not only imported: Python rewrites code that runs often, and each keeper would do so
    in memory of its own. It is exercised on the first job's processes.
    """
    from unhang.core import events as ev
    from unhang.core.diagnosis import progress, prompt, rules, standstill, suggest
    from unhang.core.policy import command_key, learn, retry
    from unhang.core.watchdog import actions as act
    from unhang.core.watchdog import messages
    from unhang.procs.sampler import cheap, full
    from unhang.store import profiles

    del prompt, suggest, command_key, learn, retry, profiles
    try:
        sampler = cheap.TreeSampler(os.getpid())
        for _ in range(_TIMES):
            before = sampler.look()
            progress.progressed(before, sampler.look())
            sample = full.full(os.getpid(), network=False)
            was, now = (
                standstill.as_it_was(sample, sample.at - 60) or sample,
                standstill.as_it_is(sample, sample.at + 60),
            )
            found = rules.diagnose(was, now).to_json()
            ev.to_line(messages.event_of(act.Stuck(60.0), since="", diagnosis=found, job_id="") | {"seq": 0, "ts": ""})
    except Exception:  # it only warms up
        pass
