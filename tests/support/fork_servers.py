"""The fork servers of the test's own process: a job that a test starts from Python leaves one."""

from __future__ import annotations

import os
import signal

from unhang.jobs import start
from unhang.procs import command_line, tree
from unhang.testing.liveness import Process


def fork_servers() -> list[int]:
    """Fork servers that are children of this process."""
    return [
        pid for pid in tree.children(os.getpid()) if "unhang.keeper.prefork.fork_server" in command_line.of(pid, 10_000)
    ]


def end_fork_server() -> None:
    """As the end of this process would: by closing its line.

    One that stays is a defect of the test that made it, and is ended all the same: the next test would wait for it.
    """
    servers = fork_servers()
    if start.default_launcher.cache_info().currsize:
        line = getattr(start.default_launcher(), "_line", None)
        if line is not None:
            line.close()
        start.default_launcher.cache_clear()
    stayed = [pid for pid in servers if not _goes(pid)]
    assert not stayed, f"fork servers whose line is still open somewhere: {stayed}"


def _goes(pid: int) -> bool:
    server = Process(pid)
    try:
        gone = server.wait_gone()
        if not gone:
            server.send(signal.SIGKILL)
    finally:
        server.close()
    os.waitpid(pid, 0)
    return gone
