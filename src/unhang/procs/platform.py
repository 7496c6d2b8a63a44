"""Chooses, once, how this system owns a tree of processes."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.procs.base import Tree


def make_tree() -> Tree:
    """`UNHANG_PROCS=posix` forces the portable way, so that it can be tested where the better one exists."""
    if sys.platform == "linux" and os.environ.get("UNHANG_PROCS") != "posix":
        from unhang.procs.linux import LinuxTree

        return LinuxTree()
    from unhang.procs.posix import PosixTree

    return PosixTree()
