"""`start`: a job that outlives whoever started it."""

from __future__ import annotations

from unhang.errors import UnhangError
from unhang.jobs import truth
from unhang.jobs.foreground import begin
from unhang.jobs.handle import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.jobs.launching import Launched, Launcher
    from unhang.jobs.request import Prepared


def start(prepared: Prepared, data: bytes | None = None, launcher: Launcher | None = None) -> Job:
    """Returns when the job has been started (or has failed to start, which its result says)."""
    launched = begin(prepared, data, launcher)
    try:
        wait_until_started(launched)
    finally:
        launched.owner.close()
    return Job(launched.place)


def wait_until_started(launched: Launched) -> None:
    while launched.owner.seq == 0 and not launched.owner.ended:
        if not launched.owner.hear():
            if launched.owner.failure:
                raise UnhangError(launched.owner.failure)
            truth.settle(launched.place, birth=0)  # lost at birth: nobody has it, and nobody will start it
            return
