"""Is this still the process of a session, is it ours to touch, and which terminal does it sit at?"""

from __future__ import annotations

import os

from unhang.procs import identity
from unhang.procs.base import ProcessInfo

# What a process was started with, as far as it concerns us. Nothing else of its environment is kept.
_OF_INTEREST = ("TMUX", "TMUX_PANE", "CLAUDE_CONFIG_DIR")


def alive(pid: int, start: str) -> ProcessInfo | None:
    """Return the same process, if it is neither dead nor a zombie, and ours to touch."""
    found = identity.find_same(pid, start)
    return found if found is not None and identity.owner(pid) == os.geteuid() else None


def environment(pid: int) -> dict[str, str]:
    """Return TMUX, TMUX_PANE and CLAUDE_CONFIG_DIR, where it has them."""
    found = identity.environment(pid)
    return {name: found[name] for name in _OF_INTEREST if name in found}


def is_terminal(found: ProcessInfo, path: str) -> bool:
    """Return whether its controlling terminal is this device."""
    try:
        return found.terminal != 0 and found.terminal == os.stat(path).st_rdev
    except OSError:
        return False
