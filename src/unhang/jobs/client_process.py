"""The process that a server on stdio serves: found among the parents, and watched for its death.

A wrapper (npx, sh -c, uvx …) may hold the other end of a pipe open after the client has died, so end of file alone is
not enough: the parent is watched, and where the parent is such a wrapper, its parent too.
"""

from __future__ import annotations

import os
import select

from unhang.procs import identity
from unhang.procs.process_handle import open_process

# Programs that only start another one and wait for it.
WRAPPERS = frozenset(
    {"sh", "bash", "dash", "zsh", "npx", "npm", "npm exec", "uv", "uvx", "pipx", "env", "timeout", "nohup", "stdbuf"}
)
_MOST = 8


def hung_up(fd: int) -> bool:
    """Return whether the other end of a pipe, a connection or a terminal is closed."""
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


def open_client() -> list[int] | None:
    """Return descriptors that become readable when the client or a wrapper around us dies; None: one is dead."""
    found: list[int] = []
    pid = os.getppid()
    for _ in range(_MOST):
        if pid <= 1:
            break
        try:
            found.append(open_process(pid))
        except ProcessLookupError:
            return None
        except OSError:
            break  # no handle can be had, or it is not ours to see
        process = identity.find(pid)
        if process is None or process.name not in WRAPPERS:
            break
        pid = process.ppid
    return found
