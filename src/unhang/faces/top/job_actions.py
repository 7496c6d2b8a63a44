"""What the keys of the screen do to a job, and what the lower half shows of it: of the jobs of this home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from unhang.core import plain_text, rows
from unhang.core.timeline import Timeline
from unhang.jobs import restart
from unhang.jobs.handle import attach
from unhang.jobs.start import start

if TYPE_CHECKING:
    from typing import Any

    from unhang.core.diagnosis.verdict import Diagnosis

MORE_TIME = "10m"
_OUTPUT = 64 << 10
LINES = 100


class JobActions(Protocol):
    """A way to the jobs that are shown."""

    def is_elsewhere(self, job_id: str) -> bool:
        """Return whether another machine has to be asked about it."""
        ...

    def output(self, job_id: str) -> list[str]:
        """Return the last lines that it printed, with their colours."""
        ...

    def events(self, job_id: str, after: int) -> list[dict[str, Any]]:
        """Return its events after a number."""
        ...

    def timeline(self, job_id: str) -> dict[str, Any]:
        """Return its life as a picture."""
        ...

    def do(self, job_id: str, what: str, text: str) -> str:
        """Do one thing to a job; what there is to say of it."""
        ...


class HomeJobActions:
    """The jobs of one home."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._timeline: tuple[str, Timeline] | None = None

    def is_elsewhere(self, job_id: str) -> bool:  # noqa: ARG002 - as of any other
        """Return False: every job of a home is here."""
        return False

    def output(self, job_id: str) -> list[str]:
        """Return the last lines that it printed, with their colours."""
        job = attach(self._home, job_id)
        kept = job.tail("stdout", _OUTPUT) + job.tail("stderr", _OUTPUT)
        return [rows.text_of_row(row) for _, row in rows.split(kept.encode())[-LINES:]]

    def events(self, job_id: str, after: int) -> list[dict[str, Any]]:
        """Return its events after a number."""
        return attach(self._home, job_id).events(after_seq=after)

    def timeline(self, job_id: str) -> dict[str, Any]:
        """Return its life as a picture; of the one that was asked for last, only what is new is read."""
        if self._timeline is None or self._timeline[0] != job_id:
            self._timeline = (job_id, Timeline())
        job, found = attach(self._home, job_id), self._timeline[1]
        for event in job.events(after_seq=found.seq):
            found.apply(event)
        return found.to_json()

    def do(self, job_id: str, what: str, text: str) -> str:
        """Do one thing to a job; what there is to say of it."""
        job = attach(self._home, job_id)
        match what:
            case "extend":
                job.extend(**dict.fromkeys(text.split(), MORE_TIME))
                return f"more time: {MORE_TIME}"
            case "answer":
                job.send(text + "\n")
                return "sent"
            case "cancel":
                return f"{job.cancel(by='unhang top').status}"
            case "seen":
                job.note_seen()
                return ""
            case "restart":
                prepared = restart.prepare_again(job, {})
                restart.end_first(job)
                return f"started again as {start(prepared).id}"
        from unhang.jobs.diagnose import diagnose_job

        return "\n".join(_tree_lines(diagnose_job(job_id)))


def _tree_lines(diagnosis: Diagnosis) -> list[str]:
    lines = [f"{diagnosis.state}, {diagnosis.cause}: {diagnosis.reason}", ""]
    lines += [
        f"{each.pid:>8}  {each.comm:<16} {each.state}  {each.cpu:>3.0f} %  {each.waits}" for each in diagnosis.processes
    ]
    return [plain_text.harmless(line) for line in lines]
