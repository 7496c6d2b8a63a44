"""What one who waits for jobs of the fleet is told meanwhile: why nothing happens, each reason once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from unhang.core.fleet.queue import QUEUED, RUNNING, TAKEN_AT_ONCE, why_it_waits
from unhang.errors import UnhangError
from unhang.faces.cli.stderr import StderrReporter
from unhang.fleet import queues

if TYPE_CHECKING:
    from collections.abc import Collection

    from unhang.core.fleet.queue import QueuedJob
    from unhang.fleet.connection import Connection

_LOOK = 5.0


async def say_why_nothing_happens(
    connection: Connection, machines: Collection[str], queued: Collection[QueuedJob]
) -> None:
    """Say on stderr, until cancelled, which of these machines are offline, and why these jobs of queues do not run.

    A job that is taken within the first moments is not worth a line.
    """
    told, mirror, first = set(), queues.Mirror("*", lean=True), True
    while True:
        found: list[str] = []
        try:
            known = await connection.machines()
            found += [_offline(name) for name in machines if name in known and not known[name].online]
            if queued and not first:
                await mirror.catch_up(connection)
                workers = await queues.workers(connection)
                for job in [mirror.jobs[each.id] for each in queued if each.id in mirror.jobs]:
                    there = [worker for worker in workers if worker.queue == job.queue]
                    if job.state == QUEUED:
                        why = why_it_waits(job, list(mirror.jobs.values()), mirror.settings(job.queue), there)
                        found += [f"job {job.id} waits in queue {job.queue}: {why}"] if why != TAKEN_AT_ONCE else []
                    elif job.state == RUNNING and job.machine in known and not known[job.machine].online:
                        found.append(_offline(job.machine))
                    elif job.state == RUNNING and job.worker not in [worker.id for worker in there]:
                        others = "the next one" if there else f"no worker of queue {job.queue} is there; the next one"
                        found.append(
                            f"job {job.id}: its worker on {job.machine} is gone; {others} says what has become of it"
                        )
        except UnhangError:
            pass  # the server is away, or does not let us read so much
        for line in found:
            if line not in told:
                told.add(line)
                StderrReporter().line(line)
        first = False
        await asyncio.sleep(_LOOK)


def _offline(machine: str) -> str:
    return f"machine {machine} is offline; waiting until it is online again"
