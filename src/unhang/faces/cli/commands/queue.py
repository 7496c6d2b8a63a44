"""`unhang queue`: the queues of the fleet: list, pause, resume, limit; what a job has changed in its checkout."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from unhang.errors import UsageError
from unhang.faces.cli import output
from unhang.faces.cli.parser import add_verb
from unhang.faces.cli.stderr import StderrReporter

if TYPE_CHECKING:
    from typing import Any

    from unhang.fleet.connection import Connection

SUMMARY = "the queues of the fleet: list, pause, resume, limit how many of their jobs run; patches of their jobs"
VERBS = ("list", "pause", "resume", "limit", "patch")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of `unhang queue`."""
    verbs = parser.add_subparsers(dest="queue_verb", required=True, metavar="|".join(VERBS))
    listing = add_verb(verbs, "list", "List the queues: what waits, what runs, how many workers there are.")
    output.add_json(listing, "print a JSON array")
    pause = add_verb(verbs, "pause", "Have no further job of a queue taken. What runs goes on.")
    resume = add_verb(verbs, "resume", "Have the jobs of a queue taken again.")
    limit = add_verb(verbs, "limit", "Have at most so many jobs of a queue run at a time, on all machines together.")
    for verb in (pause, resume, limit):
        verb.add_argument("queue", metavar="QUEUE", help="the queue")
    limit.add_argument("most", metavar="N", help="how many, or off")
    patch = add_verb(
        verbs, "patch", "Print what a job with --checkout has changed, as a patch: unhang queue patch JOB | git apply."
    )
    patch.add_argument(
        "job", metavar="JOB", help="a job of a queue that has ended: its name, or its id in the queue or on its machine"
    )
    patch.add_argument("--raw", action="store_true", help="print control characters unchanged, even on a terminal")


def main(args: argparse.Namespace) -> int:
    """Run one verb; return its exit code."""
    from unhang.core.fleet.queue import is_queue
    from unhang.core.fleet.subjects import NAME_RULE
    from unhang.faces.cli.fleet import with_server
    from unhang.fleet import queues

    if args.queue_verb == "list":
        rows = with_server(_listed)
        if args.json:
            output.print_json(rows)
        else:
            _print(rows)
        return 0
    if args.queue_verb == "patch":
        patch, left_out = with_server(lambda connection: _patch(connection, args.job))
        if left_out:
            StderrReporter().line(left_out)
        elif not patch:
            StderrReporter().line(f"job {args.job} has changed nothing")
        output.print_output(patch, raw=args.raw)
        return 0
    if not is_queue(args.queue):
        raise UsageError(f"not a name for a queue: {args.queue!r} ({NAME_RULE})")
    changes: dict[str, Any] = {"paused": args.queue_verb == "pause"}
    if args.queue_verb == "limit":
        changes = {"max_running": _most(args.most)}
    with_server(lambda connection: queues.set_queue(connection, args.queue, **changes))
    return 0


async def _patch(connection: Connection, name: str) -> tuple[bytes, str]:
    """The patch of a job, and what is not in it, if anything."""
    from unhang.core.fleet.queue import found_by_name
    from unhang.fleet import queues
    from unhang.fleet.patches import read_patch

    jobs = (await queues.everything(connection)).jobs
    found = [job for job in jobs.values() if job.ran_as and name in (job.ran_as, f"{job.ran_as}@{job.machine}")]
    job = queues.one_of(found or found_by_name(jobs, name), name)
    return await read_patch(connection, job), str(job.patch.get("why") or "")


def _most(word: str) -> int | None:
    if word == "off":
        return None
    if not (word.isascii() and word.isdigit() and int(word[:9]) > 0 and len(word) < 9):
        raise UsageError("how many? a number from 1 on, or off")
    return int(word)


async def _listed(connection: Connection) -> list[dict[str, Any]]:
    from unhang.core.fleet.queue import QUEUED, RUNNING
    from unhang.fleet import queues

    mirror, workers = await queues.everything(connection), await queues.workers(connection)
    found = []
    for name in sorted({*mirror.queues, *(worker.queue for worker in workers)}):
        states = [job.state for job in mirror.jobs.values() if job.queue == name]
        settings, there = mirror.settings(name), [worker for worker in workers if worker.queue == name]
        found.append(
            {
                "queue": name,
                "waiting": states.count(QUEUED),
                "running": states.count(RUNNING),
                "paused": settings.paused,
                "maxRunning": settings.max_running,
                "workers": len(there),
                "slots": sum(worker.slots for worker in there),
            }
        )
    return found


def _print(rows: list[dict[str, Any]]) -> None:
    table = [["QUEUE", "WAITING", "RUNNING", "LIMIT", "WORKERS", "SLOTS", "STATE"]]
    for row in rows:
        cells = (row["queue"], row["waiting"], row["running"], row["maxRunning"] or "-", row["workers"], row["slots"])
        table.append([*map(str, cells), "paused" if row["paused"] else "open"])
    output.print_table(table)
