"""Trees of processes: own one, survey one, signal its members. Which way is this system's is chosen here, once."""

from __future__ import annotations

import os
import sys

if sys.platform == "linux":
    from unhang.procs.linux.tree import children, signal_one, survey
else:
    from unhang.procs.posix.tree import children, signal_one, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.base import ProcessInfo, Tree

__all__ = ["children", "descendants", "make_tree", "signal_one", "survey"]


def make_tree() -> Tree:
    """Return what owns everything below this process.

    `UNHANG_PROCS=posix` forces the portable way, so that it can be tested where the better one exists.
    """
    if sys.platform == "linux" and os.environ.get("UNHANG_PROCS") != "posix":
        from unhang.procs.linux.tree import LinuxTree

        return LinuxTree()
    from unhang.procs.posix.tree import PosixTree

    return PosixTree()


def descendants(root: int) -> list[ProcessInfo]:
    """Return everything below `root` that lives and can be seen, parents before children."""
    return survey(root).found
