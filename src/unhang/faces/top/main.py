"""Starts the screen of `unhang top`."""

from __future__ import annotations

import os

from unhang.faces.top.app import TopApp
from unhang.jobs.home import ensure_state_home


def show() -> int:
    """Show the screen until the person leaves it; return 0."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "vt100", "xterm-mono")
    TopApp(ensure_state_home(), colours=not plain).run()
    return 0
