"""The page over all machines: jobs of this home as ever, those of others asked for at the machine that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.errors import UsageError
from unhang.faces.web.api import Desk, check_question, duration_of, text_of
from unhang.fleet.remote_jobs import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from unhang.fleet.link import FleetLink


class FleetDesk(Desk):
    """Answers the questions of the page about JOB@MACHINE, too."""

    def __init__(self, home: str, link: FleetLink) -> None:
        super().__init__(home)
        self._elsewhere = Elsewhere(home, link)

    def find(self, job_id: str) -> str:
        """Return the id of a job: JOB@MACHINE of another machine, JOB@queue.QUEUE of one that waits."""
        if self._elsewhere.waiting(job_id) is not None:
            return job_id
        there = self._elsewhere.place(job_id)
        return super().find(self._elsewhere.here(job_id)) if there is None else f"{there[1]}@{there[0]}"

    def job(self, job_id: str) -> dict[str, Any]:
        """Return it as for a job of this home; see `fleet/remote_jobs.py`."""
        if (row := self._elsewhere.waiting(job_id)) is not None:
            return self._elsewhere.waiting_job(row)
        there = self._elsewhere.place(job_id)
        return super().job(job_id) if there is None else self._elsewhere.job(*there)

    def events(self, job_id: str, after: int, limit: int) -> list[dict[str, Any]]:
        """Return the events of a job after a number."""
        if self._elsewhere.waiting(job_id) is not None:
            return []
        there = self._elsewhere.place(job_id)
        if there is None:
            return super().events(job_id, after, limit)
        return self._elsewhere.events(*there, after, limit)

    def session(self, session: str) -> dict[str, Any]:
        """Return what is known of a session that a person sits at, of any machine."""
        return self._elsewhere.session(session) or super().session(self._elsewhere.here(session))

    def timeline(self, job_id: str) -> dict[str, Any]:
        """Return the life of a job as a picture."""
        return self._elsewhere.timeline(job_id) or super().timeline(job_id)

    def rows(self, job_id: str, stream: str, first: int, count: int, at: int | None) -> dict[str, Any]:
        """Return rows of the output by number."""
        if self._elsewhere.waiting(job_id) is not None:
            return {"first": 0, "total": 0, "bytes": 0, "at": None, "rows": []}
        there = self._elsewhere.place(job_id)
        if there is None:
            return super().rows(job_id, stream, first, count, at)
        return self._elsewhere.rows(*there, stream, first, count, at)

    def search(self, job_id: str, stream: str, text: str) -> dict[str, Any]:
        """Return the numbers of the rows that hold a text."""
        there = self._elsewhere.place(job_id)
        return super().search(job_id, stream, text) if there is None else self._elsewhere.search(*there, stream, text)

    def download(self, job_id: str, stream: str) -> tuple[str, Iterator[bytes]]:
        """Return the id of a job, and everything that is kept of a stream."""
        there = self._elsewhere.place(job_id)
        return super().download(job_id, stream) if there is None else self._elsewhere.download(*there, stream)

    def tree(self, job_id: str) -> dict[str, Any]:
        """Return the processes of a job and what each waits for, looked at now."""
        there = self._elsewhere.place(job_id)
        return super().tree(job_id) if there is None else self._elsewhere.tree(*there)

    def do(self, job_id: str, what: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Have the owner do one of the things that the buttons stand for; one that waits can only be cancelled."""
        if what == "cancel" and (row := self._elsewhere.waiting(job_id)) is not None:
            self._elsewhere.cancel_waiting(row)
            return {"jobId": job_id}
        there = self._elsewhere.place(job_id)
        if there is None:
            return super().do(job_id, what, asked)
        match what:
            case "extend":
                self._elsewhere.extend(*there, idle=duration_of(asked, "idle"), hard=duration_of(asked, "hard"))
            case "send":
                check_question(asked, lambda: self._elsewhere.job(*there).get("needsInput"))
                self._elsewhere.send(*there, text_of(asked), eof=asked.get("eof") is True)
            case "cancel":
                self._elsewhere.cancel(*there, force=asked.get("force") is True)
            case "seen":
                self._elsewhere.job(*there)  # its owner is asked for its status: it is looked at
            case "restart":
                self._elsewhere.restart(*there)
            case _:
                raise UsageError(f"no such action: {what!r}")
        return {"jobId": f"{there[1]}@{there[0]}"}
