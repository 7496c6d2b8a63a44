"""Starts the screen of `unhang top`."""

from __future__ import annotations

import os

from unhang.faces.top.app import TopApp
from unhang.jobs.home import ensure_state_home


def show(*, fleet: bool = False) -> int:
    """Show the screen until the person leaves it; return 0. `fleet`: the jobs of all machines."""
    home = ensure_state_home()
    link = None
    if fleet:
        from unhang.fleet.link import FleetLink
        from unhang.fleet.note import server_of

        link = FleetLink(server_of(home, os.environ))
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") in ("dumb", "vt100", "xterm-mono")
    TopApp(home, colours=not plain, fleet=link).run()
    return 0
