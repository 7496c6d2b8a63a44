"""How somebody else's program can start this one."""

from __future__ import annotations

import os
import shutil
import sys


def command() -> list[str]:
    """By an absolute path, because a client's PATH is not the shell's."""
    beside = os.path.join(os.path.dirname(sys.executable), "unhang")
    found = beside if os.access(beside, os.X_OK) else shutil.which("unhang")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "unhang"]
