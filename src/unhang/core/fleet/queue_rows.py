"""A job of a queue as a row of a list: where it stands, and if it waits, its place and why."""

from __future__ import annotations

from unhang.core.fleet.queue import ENDED, QUEUED, RUNNING, place_of, why_it_waits
from unhang.core.fleet.rows import row_of_silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from unhang.core.fleet.presence import Machine
    from unhang.core.fleet.queue import QueuedJob, QueueSettings, Worker


def queued_row(
    job: QueuedJob,
    jobs: Sequence[QueuedJob],
    settings: QueueSettings,
    workers: Iterable[Worker],
    machines: Mapping[str, Machine],
) -> dict[str, Any]:
    """Return the row of a job of a queue; `jobs`: those of its queue, itself among them.

    Of one that was taken, and that its machine has not published, nothing is known if that machine is offline.
    """
    row: dict[str, Any] = {
        "jobId": job.id,
        "name": job.name or None,
        "status": job.status if job.state == ENDED else job.state,
        "phase": job.phase if job.state == ENDED else job.state,
        "command": job.command,
        "cwd": job.cwd,
        "kind": job.kind,
        "labels": job.labels,
        "createdAt": job.created,
        "endedAt": job.ended_at or None,
        "exitCode": job.exit_code,
        "why": job.why,
        "needs": None,
        "endsInMs": None,
        "ports": [],
        "machine": job.machine,
        "queue": job.queue,
        "attempt": job.attempt,
        "priority": job.priority,
        "place": None,
    }
    if job.state == RUNNING:
        machine = machines.get(job.machine)
        row["why"] = f"taken by {job.machine} just now"
        if machine is None or not machine.online:
            row = row_of_silent(row, machine, job.machine, "it was taken there")
    if job.state == QUEUED:
        before = place_of(job, jobs)
        why = why_it_waits(job, jobs, settings, workers)
        row["place"] = before + 1
        row["why"] = ", ".join([f"{_ordinal(before + 1)} in {job.queue}", why, *([job.why] if job.why else [])])
    return row


def unpublished(
    rows: Iterable[dict[str, Any]],
    jobs: Sequence[QueuedJob],
    settings: Callable[[str], QueueSettings],
    workers: Sequence[Worker],
    machines: Mapping[str, Machine],
) -> list[dict[str, Any]]:
    """Return the rows of the jobs of queues that no machine shows: they wait, were just taken, or never ran.

    One whose attempt has ended, and of which its queue does not know that yet, is among them: it may run again.
    """
    ended: dict[str, bool] = {}
    for row in rows:
        name = str((row.get("labels") or {}).get(QUEUED))
        ended[name] = ended.get(name, True) and bool(row.get("endedAt"))
    found = []
    for job in jobs:
        if job.state == QUEUED or job.id not in ended or (job.state == RUNNING and ended[job.id]):
            made = queued_row(job, jobs, settings(job.queue), workers, machines)
            if job.state == RUNNING and job.id in ended:
                why = f"has ended on {job.machine}, and its worker has not said how yet"
                made |= {"status": RUNNING, "phase": RUNNING, "why": why}
            found.append(made)
    return found


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
