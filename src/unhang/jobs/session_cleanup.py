"""Letting the streams of old sessions go, as old jobs are. A session that lives keeps its own."""

from __future__ import annotations

import os

from unhang.core import retention
from unhang.errors import StateError
from unhang.jobs.listing import folder_size
from unhang.procs import clock, identity, vantage
from unhang.store.reader import last_event
from unhang.store.session_log import SessionLog, session_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.retention import Keep


def collect(home: str, keep: Keep, now: float | None = None) -> list[str]:
    """The ids of the sessions whose streams are gone now. `now`: see listing.collect."""
    try:
        logs = {name: SessionLog(name, home) for name in session_ids(home)}
    except StateError:
        return []
    offered = [ended for log in logs.values() if (ended := _ended(log)) is not None]
    return [
        name for name in retention.choose(offered, keep, clock.wall() if now is None else now) if logs[name].remove()
    ]


def _ended(log: SessionLog) -> retention.Ended | None:
    """None: it lives, or cannot be looked at."""
    try:
        changed = os.stat(log.path).st_mtime
    except FileNotFoundError:
        changed = os.stat(log.folder).st_mtime  # made a moment ago, or left half removed
    except OSError:
        return None
    last = last_event(log.path) or {}
    stands = vantage.here()
    if last.get("boot") == stands.boot and last.get("pidNamespace") not in (None, "", stands.pids):
        return None  # of a container, or looked at from one: whether it lives cannot be told from here
    pid, start = last.get("pid"), last.get("procStart")
    if isinstance(pid, int) and isinstance(start, str) and identity.is_alive(pid, start):
        return None
    return retention.Ended(log.session_id, changed, folder_size(log.folder))
