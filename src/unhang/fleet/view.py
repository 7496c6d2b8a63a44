"""What a viewer sees of the fleet: rows and sessions of all machines, the log of a job as it grows, and its end.

All of it is read from the server, so that it can be seen while the machine that owns a job is offline.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from unhang.core import events as ev
from unhang.core import values
from unhang.core.attention import Attention
from unhang.core.fleet.entries import entry_from
from unhang.core.fleet.messages import Unfolded
from unhang.core.fleet.queue import QUEUED
from unhang.core.fleet.queue_rows import unpublished
from unhang.core.fleet.rows import UNKNOWN, merge_rows, row_to_show
from unhang.core.overview import SESSION, in_order
from unhang.core.record import Record
from unhang.core.result import Printed, build
from unhang.core.view import View
from unhang.fleet import queues
from unhang.fleet.connection import ServerAway
from unhang.fleet.note import own_name
from unhang.jobs.listing import Row, list_jobs
from unhang.jobs.outlook import Outlook, outlooks
from unhang.jobs.overview import Overview

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Any

    from unhang.core.events import Event
    from unhang.core.fleet.presence import Machine
    from unhang.core.fleet.queue import Worker
    from unhang.core.overview import Entry
    from unhang.core.result import Result
    from unhang.fleet.connection import Connection

# A follower looks by itself now and then: what wakes it is a message that the server sends once.
_LOOK = 2.0
_AWAY = 1.0


class FleetRow(Record):
    """A job of the fleet: as JSON, and as what `unhang ps` draws."""

    machine: str
    json: dict[str, Any]
    outlook: Outlook


async def fleet_rows(connection: Connection, home: str) -> list[FleetRow]:
    """Return the jobs of this home and of all machines, the newest first."""
    rows = await connection.rows()
    machines = await connection.machines()
    own = own_name(home, machines)
    local = [found.to_json(home) for found in outlooks(home, list_jobs(home))]
    found = merge_rows(local, own, rows, machines, time.time())
    found = with_queued(found, await queues.everything(connection), await queues.workers(connection), machines)
    return [FleetRow(row["machine"], row, outlook_from(row)) for row in found]


async def fleet_sessions(connection: Connection, home: str) -> list[Entry]:
    """Return the sessions of this home and of all machines, as the overview has them; what needs a person first."""
    rows, machines = await connection.sessions(), await connection.machines()
    own, now = own_name(home, machines), time.time()
    with Overview(home, usage=False) as overview:
        overview.refresh()
        local = [entry for entry in overview.snapshot().entries.values() if entry["kind"] == SESSION]
    found = [entry | {"machine": own} for entry in local]
    found += [entry_from(row, name, machines.get(name), now) for (name, _), row in rows.items() if name != own]
    return in_order(found)


def with_queued(
    rows: list[dict[str, Any]], mirror: queues.Mirror, workers: list[Worker], machines: Mapping[str, Machine]
) -> list[dict[str, Any]]:
    """Return the rows with those of jobs of a queue that no machine has published: they wait, or never ran."""
    added = unpublished(rows, list(mirror.jobs.values()), mirror.settings, workers, machines)
    return sorted([*added, *rows], key=lambda row: str(row.get("createdAt") or ""), reverse=True)


def outlook_from(row: dict[str, Any]) -> Outlook:
    """Return what `unhang ps` draws of a row that was read as JSON."""
    status = str(row["status"])
    made = Row(
        id=str(row["jobId"]),
        created=str(row.get("createdAt") or ""),
        command=str(row.get("command") or ""),
        cwd=str(row.get("cwd") or ""),
        labels=values.mapping(row.get("labels")) or {},
        kind=str(row.get("kind") or "command"),
        status=status,
        phase=str(row["phase"]),
        started=values.text(row.get("createdAt")),
        ended=values.text(row.get("endedAt")),
        exit_code=values.integer(row.get("exitCode")),
        bytes=0,
        final=status not in ("running", UNKNOWN, QUEUED),
    )
    left = values.number(row.get("endsInMs"))
    return Outlook(
        row=made,
        attention=_attention(values.mapping(row.get("needs"))),
        why=str(row.get("why") or ""),
        ends_at=None if left is None else time.time() + left / 1000,
        ports=values.texts(row.get("ports")) or [],
        signal=values.text(row.get("signal")),
        started=values.text(row.get("startedAt")) or made.started,
        ran_ms=values.number(row.get("ranMs")),
        cause=values.text(row.get("cause")),
    )


def _attention(needs: dict[str, Any] | None) -> Attention | None:
    from unhang.core.attention import KINDS

    if needs is None or needs.get("kind") not in KINDS:
        return None
    texts = {name: str(needs.get(name) or "") for name in ("kind", "why", "since", "command", "answers")}
    return Attention(ends_at=values.moment(needs.get("endsAt")), **texts)


class PublishedLog:
    """The log of a job as far as it was read from the server. Hold `lock` while it is read."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._unfolded = Unfolded()
        self._place = 0
        self._found: dict[int, Event | None] = {}

    async def read(self, connection: Connection, machine: str, job: str) -> None:
        """Read what is new."""
        async for message in connection.log_of(machine, job, self._place):
            self._place = message.place
            for seq, line in self._unfolded.take(message):
                if message.again:  # the log has lost its end, and what was told of it is void
                    self._found = {number: event for number, event in self._found.items() if number < seq}
                self._found[seq] = ev.from_line(line)

    def after(self, seq: int) -> list[Event]:
        """Return the events after this number."""
        return [event for number, event in self._found.items() if event is not None and number > seq]


async def events_of(connection: Connection, machine: str, job: str, after: int = 0) -> list[Event]:
    """Return the events of a job that the server has, after this number."""
    log = PublishedLog()
    await log.read(connection, machine, job)
    return log.after(after)


async def follow(connection: Connection, machine: str, job: str, after: int = 0) -> AsyncIterator[Event]:
    """Yield the events of a job after this number as they come, until the last one."""
    unfolded, place = Unfolded(after), 0
    heard = await connection.heard(machine, job)
    try:
        while True:
            heard.wake.clear()
            try:
                async for message in connection.log_of(machine, job, place):
                    place = message.place
                    for _, line in unfolded.take(message):
                        event = ev.from_line(line)
                        if event is None:
                            continue
                        yield event
                        if event["type"] == ev.EXITED:
                            return
            except ServerAway:
                if connection.closed:
                    raise
                await asyncio.sleep(_AWAY)
                continue
            if await heard.catch_up(place):
                continue
            try:
                async with asyncio.timeout(_LOOK):
                    await heard.wake.wait()
            except TimeoutError:
                pass
    finally:
        await heard.close()


async def view_of(connection: Connection, machine: str, job: str) -> View:
    """Return what the published events say of a job."""
    view = View()
    for event in await events_of(connection, machine, job):
        view.apply(event)
    return view


def result_from(view: View, job: str, command: str) -> Result:
    """Return the result of a job without its output, which stays on its machine."""
    nothing = Printed("", "", truncated=True)
    return build(job, view, nothing, nothing, None, command)


def status_from(view: View, row: dict[str, Any], machine: Machine | None, name: str) -> dict[str, Any]:
    """Return what `unhang status --json` shows of a job whose machine is offline: without output, and `unknown`."""
    seen = row_to_show(row, machine, name, time.time())
    status = result_from(view, str(row["jobId"]), str(row.get("command") or "")).to_json() | view.summary()
    status |= {"needsInput": view.needs_input, "heartbeat": view.heartbeat, "attempt": view.attempt}
    status |= {"ending": view.ending}
    status |= {field: seen.get(field) for field in ("name", "command", "cwd", "labels", "needs", "endsInMs", "ports")}
    status |= {"machine": name, "where": f"{name} is offline, last seen {machine.seen if machine else '?'}"}
    return status if view.ended else status | {"status": UNKNOWN, "phase": UNKNOWN, "recovery": None}
