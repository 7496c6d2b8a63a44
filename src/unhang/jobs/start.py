"""`start`: a job that outlives whoever started it."""

from __future__ import annotations

from unhang.jobs.handle import Job
from unhang.jobs.run import begin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.launcher import Launcher
    from unhang.jobs.request import Prepared


def start(prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None) -> Job:
    """Returns when the job has been started (or has failed to start, which its result says)."""
    launched = begin(prepared, data, launcher)
    try:
        launched.owner.wait_until_started()
    finally:
        launched.owner.close()
    return Job(launched.place)
