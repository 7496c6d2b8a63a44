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
    from unhang.procs.sampler.connections import listening

    try:
        spec = job.spec
        keeper = int(spec["keeper"]["pid"])
        found = {} if spec.get("pty") else cheap(keeper).processes
        editors = {process.comm for pid, process in found.items() if _waits_for_keys(pid, process.comm)}
        return TreeLook(tuple(listening([keeper]).get(keeper, ())), tuple(sorted(editors)))
    except (UnhangError, OSError, KeyError, TypeError, ValueError):
        return TreeLook()


def _waits_for_keys(pid: int, name: str) -> bool:
    """Whether a process is an editor for a person, and not one that carries out a script (`vim -es`)."""
    if name not in EDITORS:
        return False
    from unhang.core.policy.builtin import NEVER_ENDING, lookup
    from unhang.procs import identity

    known = lookup((name.partition(".")[0].partition("-")[0], *identity.argv(pid)[1:]))
    return known is None or known.category in NEVER_ENDING
