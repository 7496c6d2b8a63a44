"""Functions of a caller's own that are told what happens to a job."""

from __future__ import annotations

from unhang.core import events as ev
from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.jobs.handle import Job

    Callback = Callable[[ev.Event], object]


class Callbacks(Record):
    """What is called with each event, with each warning of a limit, and with a limit that has fired.

    An event has `jobId` besides its own fields, so that `unhang.job(event["jobId"])` can be asked for more.
    """

    on_event: Callback | None = None
    on_warning: Callback | None = None
    on_timeout: Callback | None = None

    @property
    def wanted(self) -> bool:
        """Return whether there is anything to call."""
        return not (self.on_event is None and self.on_warning is None and self.on_timeout is None)

    def tell(self, job_id: str, event: ev.Event) -> None:
        """Call what wants to know of this event."""
        event = event | {"jobId": job_id}
        watchdog = event.get("type") == ev.WATCHDOG
        if self.on_event is not None:
            self.on_event(event)
        if self.on_warning is not None and watchdog and event.get("phase") == "warning":
            self.on_warning(event)
        if self.on_timeout is not None and watchdog and event.get("phase") == "timeout":
            self.on_timeout(event)

    def follow(self, job: Job) -> None:
        """Tell everything that happens to a background job, from a thread of its own, until the job has ended."""
        import threading

        def follow() -> None:
            for event in job.follow():
                self.tell(job.id, event)

        threading.Thread(target=follow, daemon=True, name=f"unhang-events-{job.id}").start()
