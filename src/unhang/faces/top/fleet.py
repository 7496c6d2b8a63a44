"""The screen over all machines: jobs of this home as ever, those of others asked for at the machine that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.core import plain_text, values
from unhang.faces.top.job_actions import LINES, MORE_TIME, HomeJobActions
from unhang.fleet.remote_jobs import Elsewhere

if TYPE_CHECKING:
    from typing import Any

    from unhang.fleet.link import FleetLink


class FleetJobActions(HomeJobActions):
    """The jobs of all machines."""

    def __init__(self, home: str, link: FleetLink) -> None:
        super().__init__(home)
        self._elsewhere = Elsewhere(home, link)

    def is_elsewhere(self, job_id: str) -> bool:
        """Return whether another machine has to be asked about it."""
        return "@" in job_id

    def output(self, job_id: str) -> list[str]:
        """Return the last lines that it printed, with their colours."""
        if (row := self._elsewhere.waiting(job_id)) is not None:
            return [row["why"]]
        there = self._elsewhere.place(job_id)
        if there is None:
            return super().output(job_id)
        found = [
            self._elsewhere.rows(*there, stream, -LINES, LINES, None).get("rows") for stream in ("stdout", "stderr")
        ]
        lines = [str(row[1]) for each in found if isinstance(each, list) for row in each if _is_row(row)]
        return lines[-LINES:]

    def events(self, job_id: str, after: int) -> list[dict[str, Any]]:
        """Return its events after a number."""
        if self._elsewhere.waiting(job_id) is not None:
            return []
        there = self._elsewhere.place(job_id)
        return super().events(job_id, after) if there is None else self._elsewhere.events(*there, after, 1000)

    def timeline(self, job_id: str) -> dict[str, Any]:
        """Return its life as a picture."""
        return self._elsewhere.timeline(job_id) or super().timeline(job_id)

    def do(self, job_id: str, what: str, text: str) -> str:
        """Have the owner do one thing to a job; what there is to say of it. One that waits can only be cancelled."""
        if what == "cancel" and (row := self._elsewhere.waiting(job_id)) is not None:
            return self._elsewhere.cancel_waiting(row)
        there = self._elsewhere.place(job_id)
        if there is None:
            return super().do(job_id, what, text)
        match what:
            case "extend":
                self._elsewhere.extend(*there, **dict.fromkeys(text.split(), MORE_TIME))
                return f"more time: {MORE_TIME}"
            case "answer":
                self._elsewhere.send(*there, text + "\n")
                return "sent"
            case "cancel":
                self._elsewhere.cancel(*there)
                return f"{there[0]} ends it"
            case "seen":
                self._elsewhere.job(*there)  # its owner is asked for its status: it is looked at
                return ""
            case "restart":
                self._elsewhere.restart(*there)
        found = self._elsewhere.tree(*there)
        lines = [f"{found.get('state')}, {found.get('cause')}: {found.get('reason')}", ""]
        lines += [
            f"{each.get('pid'):>8}  {each.get('comm')!s:<16} {each.get('state')}  {each.get('waits')}"
            for each in values.mappings_of(found, "processes")
            if values.pid(each.get("pid")) is not None
        ]
        return "\n".join(plain_text.harmless(line) for line in lines)


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and isinstance(row[1], str)
