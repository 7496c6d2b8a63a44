"""Who holds a lock: a holder signs the file, since one that is stopped (SIGSTOP) keeps its lock and does nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from unhang.core.values import integer_of, text_of
from unhang.procs import identity, vantage

if TYPE_CHECKING:
    from typing import Any


def signature() -> dict[str, Any]:
    """Return what names this process to others, wherever they look from."""
    pid = os.getpid()
    return {"pid": pid, "start": identity.start_time(pid)} | vantage.record(vantage.here())


def stopped_pid(signed: Any) -> int | None:
    """Return the pid of the process that has signed if it is stopped; None also if it cannot be judged from here."""
    pid, start = integer_of(signed, "pid"), text_of(signed, "start", most=40)
    if (
        not isinstance(signed, dict)
        or pid is None
        or pid <= 0
        or vantage.sight(signed, vantage.here()).kind != vantage.HERE
    ):
        return None
    found = identity.find_same(pid, start)
    return pid if found is not None and found.state in "Tt" else None
