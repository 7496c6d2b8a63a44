"""A quick look at the processes of a job while a caller waits: where they listen, and which are editors."""

from __future__ import annotations

from unhang.core.editors import EDITORS
from unhang.core.record import Record
from unhang.errors import UnhangError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.handle import Job


class TreeLook(Record):
    """What a look has seen: the TCP addresses that the job listens on, and the editors in its tree."""

    listening: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()


def look_at(job: Job) -> TreeLook:
    """Look at the processes of a job; one that has ended, or that cannot be seen from here, shows nothing."""
    from unhang.procs.sampler.cheap import cheap
    from unhang.procs.sampler.listeners import listeners

    try:
        keeper = int(job.spec["keeper"]["pid"])
        names = [process.comm for process in cheap(keeper).processes.values()]
        editors = () if job.spec.get("pty") else tuple(sorted({name for name in names if name in EDITORS}))
        return TreeLook(listeners(keeper), editors)
    except (UnhangError, OSError, KeyError, TypeError, ValueError):
        return TreeLook()
