"""The overview of a fleet: the jobs and sessions of this home and of all machines, with who is there; see
`jobs/overview.py`.

A job of another machine is called JOB@MACHINE, a session SESSION@MACHINE. One that had not ended when its machine was
seen last is `unknown`.
"""

from __future__ import annotations

import heapq
import select
import time
from collections import deque

from unhang.core.fleet.entries import entry_from, queued_entry
from unhang.core.overview import counts
from unhang.fleet.note import own_name
from unhang.jobs.overview import MOST_ENDED, MOST_ENDED_SESSIONS, Change, Overview, Snapshot
from unhang.procs import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.core.fleet.presence import Machine
    from unhang.core.overview import Entry
    from unhang.fleet.link import FleetLink, FleetState

_KEPT_CHANGES = 2000
_SLEEP = 1.0
# What a machine says every few seconds is shown at most so often, if nothing else of it has changed.
_MACHINES = 5.0
_MOVING = ("load", "lastSeen", "behind")


class FleetOverview:
    """As `Overview`: `refresh` brings it up to date, `wait` waits until that may be worth while. Close it."""

    def __init__(self, home: str, link: FleetLink) -> None:
        self.home = home
        self.revision = 0
        self._link = link
        self._local = Overview(home)
        self._local_revision = -1
        self._entries: dict[str, Entry] = {}
        self._changes: deque[Change] = deque(maxlen=_KEPT_CHANGES)
        self._machines: list[dict[str, Any]] = []
        self._machines_at, self._machines_shown = 0, 0.0
        self._own = ""
        self._queued: tuple[list[dict[str, Any]], dict[str, Entry]] = ([], {})
        self._seen: dict[tuple[str, str], tuple[Any, Machine | None]] = {}

    def __enter__(self) -> FleetOverview:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give every watch back."""
        self._local.close()

    def snapshot(self) -> Snapshot:
        """Return what is known now. Costs a shallow copy."""
        return Snapshot(
            self.revision,
            round(clock.wall() * 1000),
            dict(self._entries),
            tuple(self._changes),
            counts(self._entries.values()),
            self._machines,
            self._machines_at,
        )

    def wait(self, timeout: float = _SLEEP) -> bool:
        """Wait until there may be something new, at most so many seconds. False: the time is over."""
        poll = select.poll()
        poll.register(self._link.fd, select.POLLIN)
        if self._local.fd >= 0:
            poll.register(self._local.fd, select.POLLIN)
        found = bool(poll.poll(max(0.0, min(timeout, _SLEEP)) * 1000))
        return self._local.wait(0.0) or found

    def refresh(self) -> bool:
        """Read what is new. True: an entry, or who is there, has changed."""
        self._link.clear()
        state = self._link.state()
        changed = self._refresh_machines(state)
        own = own_name(self.home, state.machines)
        wanted = self._refresh_local(own) | self._wanted(state, own) | self._waiting(state)
        really = [each for each, entry in wanted.items() if self._entries.get(each) != entry]
        gone = [each for each in self._entries if each not in wanted]
        if not really and not gone and not changed:
            return False
        self._entries = wanted
        self.revision += 1
        if changed:
            self._machines_at = self.revision
        self._changes.append(Change(self.revision, tuple(really), tuple(gone)))
        return True

    def _refresh_local(self, own: str) -> dict[str, Entry]:
        self._local.refresh()
        if self._local.revision == self._local_revision and own == self._own:
            return {each: entry for each, entry in self._entries.items() if "@" not in each}
        self._local_revision, self._own = self._local.revision, own
        return {each: entry | {"machine": own or None} for each, entry in self._local.snapshot().entries.items()}

    def _wanted(self, state: FleetState, own: str) -> dict[str, Entry]:
        """The entries of the other machines: all that have not ended, and the newest that have."""
        rows = {where: row for where, row in (state.rows | state.sessions).items() if where[0] != own}
        ended = {where for where, row in rows.items() if row["status"] != "running"}
        chosen = rows.keys() - ended
        for known, most in ((state.rows, MOST_ENDED), (state.sessions, MOST_ENDED_SESSIONS)):
            over = ended & known.keys()
            chosen |= {*heapq.nlargest(most, over, key=lambda where: str(rows[where].get("endedAt") or ""))}
        now = time.time()
        found: dict[str, Entry] = {}
        seen: dict[tuple[str, str], tuple[Any, Machine | None]] = {}
        for where in chosen:
            machine = state.machine(where[0])
            # an entry is made anew only if its row is another, or its machine came or went
            there = machine if machine is None or not machine.online else machine.replace(seen="", load=0.0, behind=0)
            seen[where] = (rows[where], there)
            each = f"{where[1]}@{where[0]}"
            before = self._entries.get(each)
            if before is not None and self._seen.get(where) == seen[where]:
                found[each] = before
            else:
                found[each] = entry_from(rows[where], where[0], machine, now)
        self._seen = seen
        return found

    def _waiting(self, state: FleetState) -> dict[str, Entry]:
        """The entries of jobs that wait in queues, made anew only where one has changed."""
        if state.queued != self._queued[0]:
            self._queued = (state.queued, {entry["id"]: entry for entry in map(queued_entry, state.queued)})
        return self._queued[1]

    def _refresh_machines(self, state: FleetState) -> bool:
        found = [machine.to_json() for machine in state.machines.values()]
        if not state.fresh:
            found = [each | {"state": "offline"} for each in found]
        if found == self._machines:
            return False
        moving = [_lasting(each) for each in found] == [_lasting(each) for each in self._machines]
        if moving and time.monotonic() < self._machines_shown + _MACHINES:
            return False
        self._machines, self._machines_shown = found, time.monotonic()
        return True


def _lasting(machine: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in machine.items() if name not in _MOVING}
