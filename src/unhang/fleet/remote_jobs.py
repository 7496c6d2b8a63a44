"""The jobs of other machines for a page or a screen: what it shows of one, and what its buttons do, at the owner.

And their sessions: what the server has of them.
"""

from __future__ import annotations

import binascii

from unhang.core import values
from unhang.core.fleet.entries import entry_from, queued_name
from unhang.core.fleet.queue import ENDED
from unhang.core.fleet.requests import PAGE, Request
from unhang.core.fleet.rows import found_by
from unhang.core.fleet.subjects import session_part, split_name
from unhang.core.timeline import Timeline
from unhang.core.view import View
from unhang.errors import ControlError, NoSuchJob, UsageError
from unhang.fleet.command_client import Offline
from unhang.fleet.note import own_name
from unhang.fleet.view import result_from, status_from
from unhang.jobs.output_viewer import whole_output
from unhang.jobs.sessions import describe_session
from unhang.procs import clock
from unhang.store.output_reader import Slice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from unhang.core.events import Event
    from unhang.fleet.link import FleetLink

MOST_EVENTS = 1000


class Elsewhere:
    """What can be asked and done about a job of another machine, seen from a home. From any thread."""

    def __init__(self, home: str, link: FleetLink) -> None:
        self._home = home
        self._link = link

    def place(self, name: str) -> tuple[str, str] | None:
        """Return the machine and the id of a job of another machine; None if the name means a job of this one.

        Raises NoSuchJob or AmbiguousJob, and ControlError for one that waits in a queue: there is nothing of it yet.
        """
        if (row := self.waiting(name)) is not None:
            raise ControlError(f"job {row['jobId']} waits in queue {row['queue']}: {row['why']}")
        found = split_name(name)
        state = self._link.state()
        if found is None or found[1] == own_name(self._home, state.machines):
            return None
        return found_by(state.rows, *found)

    def here(self, name: str) -> str:
        """Return the name of a job of this machine without the machine's."""
        found = split_name(name)
        return name if found is None else found[0]

    def waiting(self, name: str) -> dict[str, Any] | None:
        """Return the row of a job of a queue that no machine has, by its name in the overview; None: it is no such."""
        rows = self._link.state().queued
        return next((row for row in rows if queued_name(row["jobId"], row["queue"]) == name), None)

    def waiting_job(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what `job` says of one that waits."""
        nothing = result_from(View(), row["jobId"], row["command"]).to_json() | View().summary()
        return nothing | {"needsInput": None, "heartbeat": None, "ending": None, "lastEvents": []} | row

    def cancel_waiting(self, row: dict[str, Any]) -> str:
        """Have a job that waits not be run; return what has become of it."""
        changed = self._link.cancel_queued(row["jobId"])
        return changed.why if changed.state == ENDED else f"it was taken by {changed.machine} just now: cancel it again"

    # --- reading ----------------------------------------------------------------------------------------------

    def job(self, machine: str, job: str) -> dict[str, Any]:
        """Return it as `agents/job_look.py` does; while the machine is offline without output, and `unknown` if it had
        not ended.
        """
        try:
            found: dict[str, Any] = self._page(machine, job, "look")
        except Offline:
            state, view = self._link.state(), View()
            for event in self._link.events(machine, job, 0, 1 << 30):
                view.apply(event)
            found = status_from(view, state.rows[machine, job], state.machines.get(machine), machine)
        return found | {"machine": machine}

    def events(self, machine: str, job: str, after: int, limit: int) -> list[Event]:
        """Return the events of a job after a number, from the server."""
        return self._link.events(machine, job, after, min(limit, MOST_EVENTS))

    def session(self, name: str) -> dict[str, Any] | None:
        """Return a session of another machine, as `jobs/sessions.py` does, from the server; None: it is of this home.

        Its saved screen stays on its machine. Raises NoSuchJob.
        """
        found, state = split_name(name), self._link.state()
        if found is None or found[1] == own_name(self._home, state.machines):
            return None
        session, machine = found
        row = state.sessions.get((machine, session))
        if row is None:
            raise NoSuchJob(f"no such session: {name[:128]}")
        entry = entry_from(row, machine, state.machine(machine), clock.wall())
        events = self._link.events(machine, session_part(session), 0, 1 << 30)
        return describe_session(session, events) | {"entry": entry, "saved": None}

    def timeline(self, job_id: str) -> dict[str, Any] | None:
        """Return the life of a job as a picture, an empty one if it waits in a queue; None: it is of this home."""
        found = Timeline()
        if self.waiting(job_id) is None:
            there = self.place(job_id)
            if there is None:
                return None
            for event in self._link.events(*there, 0, 1 << 30):
                found.apply(event)
        return found.to_json()

    def rows(self, machine: str, job: str, stream: str, first: int, count: int, at: int | None) -> dict[str, Any]:
        """Return rows of the output by number; see `jobs/output_viewer.py`."""
        around = [] if at is None else [f"--at={at}"]
        found: dict[str, Any] = self._page(
            machine, job, "rows", f"--stream={stream}", f"--first={first}", f"--count={count}", *around
        )
        return found

    def search(self, machine: str, job: str, stream: str, text: str) -> dict[str, Any]:
        """Return the numbers of the rows that hold a text."""
        found: dict[str, Any] = self._page(machine, job, "search", f"--stream={stream}", f"--text={text[:200]}")
        return found

    def download(self, machine: str, job: str, stream: str) -> tuple[str, Iterator[bytes]]:
        """Return the id of a job, and everything that is kept of a stream."""

        def read(at: int) -> Slice:
            found = self._page(machine, job, "piece", f"--stream={stream}", f"--at={at}")
            data = binascii.a2b_base64(values.text_of(found, "data", most=1 << 20))
            return Slice(values.whole(found.get("offset")) or 0, data, max(at, values.whole(found.get("next")) or 0))

        return job, whole_output(read)

    def tree(self, machine: str, job: str) -> dict[str, Any]:
        """Return the processes of a job and what each waits for, looked at now by its machine."""
        return _object(self._link.ask(machine, Request("diagnose", [job], ["--json"])))

    def _page(self, machine: str, job: str, what: str, *options: str) -> dict[str, Any]:
        return _object(self._link.ask(machine, Request(PAGE, [job], [f"--what={what}", *options])))

    # --- doing ------------------------------------------------------------------------------------------------

    def extend(self, machine: str, job: str, **limits: str | float | None) -> None:
        """Give a job more time."""
        self._do("extend", machine, job, [f"--{limit}={value}" for limit, value in limits.items() if value is not None])

    def send(self, machine: str, job: str, text: str, *, eof: bool = False) -> None:
        """Send a job input, or an agent an answer."""
        self._do("send", machine, job, ["--eof"] if eof else [], text.encode("utf-8", "surrogateescape"))

    def cancel(self, machine: str, job: str, *, force: bool = False) -> None:
        """Have a job ended; its end is not waited for."""
        self._do("cancel", machine, job, ["--no-wait", *(["--force"] if force else [])])

    def _do(self, what: str, machine: str, job: str, options: list[str], data: bytes = b"") -> None:
        self._link.ask(machine, Request(what, [job], options, data))

    def restart(self, machine: str, job: str) -> NoReturn:
        """Refuse: what starts a job is not taken from another machine."""
        raise UsageError(f"a job is started again on its own machine: unhang restart there ({job} of {machine})")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = values.parse(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ControlError("the machine's answer cannot be read")
    return found
