"""Jobs of a queue on the command line: putting one in, and the commands about one that runs nowhere (yet)."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from typing import TYPE_CHECKING

from unhang.core import values
from unhang.core.durations import human
from unhang.core.events import ELOST
from unhang.core.fleet.checkout import parse_checkout
from unhang.core.fleet.hold import LONGEST, SHORTEST, default_hold
from unhang.core.fleet.presence import BELIEVED
from unhang.core.fleet.queue import (
    ENDED,
    FAIL,
    HIGHEST,
    MOST_NEEDS,
    QUEUED,
    RUNNING,
    QueuedJob,
    QueueSettings,
    found_by_name,
    is_queue,
    submitted_last,
)
from unhang.core.fleet.queue_rows import queued_row
from unhang.core.fleet.rows import LAST
from unhang.core.fleet.subjects import NAME_RULE, is_machine
from unhang.core.fleet.task import LARGEST, Task
from unhang.core.limit_request import LIMIT_NAMES, read_positive
from unhang.core.sizes import read_size
from unhang.core.spec import (
    AGENT,
    INHERIT,
    JOB_NAME_RULE,
    NAME,
    NOTIFY,
    NULL,
    PIPE,
    agent_record,
    command_line,
    is_name,
    masked,
)
from unhang.errors import UnhangError, UsageError
from unhang.faces.cli import options, output, times
from unhang.faces.cli.stderr import StderrReporter
from unhang.fleet import queues
from unhang.fleet.connection import ServerAway
from unhang.fleet.end_tasks import end
from unhang.jobs.request import split_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from unhang.agents.base.plan import AgentPlan
    from unhang.fleet.connection import Connection

# What wakes one who waits is a message that the server sends once: it looks by itself now and then.
_LOOK, _AGAIN = 2.0, 0.1
_BY = "unhang cancel"


class NotRunYet(UnhangError):
    """A job of a queue that no machine has."""

    def __init__(self, job: QueuedJob) -> None:
        super().__init__(f"job {job.id} waits in queue {job.queue}: no machine has it")
        self.job = job


# --- putting a job into a queue ---------------------------------------------------------------------------------


def submit_command(args: argparse.Namespace) -> int:
    """Put a command into a queue; print the job's id."""
    return _submit(args, *job_and_task(args))


def submit_agent(args: argparse.Namespace, protocol: str, name: str, plan: AgentPlan, cwd: str | None) -> int:
    """Put the task of an agent into a queue, for the agent that the worker's machine has; print the job's id."""
    return _submit(args, *agent_and_task(args, protocol, name, plan, cwd))


def _submit(args: argparse.Namespace, job: QueuedJob, task: Task) -> int:
    from unhang.faces.cli.fleet import with_server

    async def submit(connection: Connection) -> int:
        stored = await queues.submit(connection, job, task)
        if args.json and not args.wait:
            output.print_json(stored.to_json())
        elif not args.json:
            print(stored.id, flush=True)
        if not args.wait:
            return 0
        from unhang.core import outcome
        from unhang.faces.cli.queue_notices import say_why_nothing_happens

        saying = asyncio.ensure_future(say_why_nothing_happens(connection, (), [stored]))
        try:
            last = await end_of_queued(connection, stored)
        finally:
            await end([saying])
        if args.json:
            output.print_json((await queues.newest(connection, stored) or stored).to_json())
        return outcome.exit_code(last)

    return with_server(submit, lasting=args.wait)


def job_and_task(args: argparse.Namespace) -> tuple[QueuedJob, Task]:
    """Return the job that the options of `unhang start --fleet` describe, and what it is to run; raise UsageError."""
    return _described(_job_of(args), _task_of(args))


def agent_and_task(
    args: argparse.Namespace, protocol: str, name: str, plan: AgentPlan, cwd: str | None
) -> tuple[QueuedJob, Task]:
    """Return the job that gives a task to an agent, and that task; raise UsageError."""
    _check_elsewhere(args, plan)
    task = Task(
        argv=[name, plan.title],
        shell=None,
        **_where(args, cwd),
        env={},
        labels=_labels_of(args),
        limits=_limits_of(args),
        retry=args.retry,
        agent={"protocol": protocol, "plan": plan.to_json()},
    )
    job, task = _described(_job_of(args), task)
    record = agent_record(protocol, name, plan.mode, plan.title, {})
    return job.replace(kind=AGENT, command=command_line({"agent": record})), task


def _check_elsewhere(args: argparse.Namespace, plan: AgentPlan) -> None:
    """Raise UsageError for what belongs to this machine, and means nothing on another."""
    _check_policy(args)
    if plan.record is not None:
        raise UsageError("--record is a file of this machine: the agent of a queue's job runs elsewhere")
    if getattr(plan, "thread", None) or getattr(plan, "session", None):
        raise UsageError("a session is on one machine: a job of a queue begins a new one")


def _described(job: QueuedJob, task: Task) -> tuple[QueuedJob, Task]:
    if len(task.to_bytes()) > LARGEST:
        raise UsageError(f"the command and its environment are larger than {LARGEST >> 10} KiB: put them into files")
    checkout = task.cwd if task.checkout is not None else ""
    command = masked(task.shell, task.argv)
    return job.replace(command=command, cwd=task.cwd, labels=task.labels, checkout=checkout), task


def _job_of(args: argparse.Namespace) -> QueuedJob:
    if not is_queue(args.fleet):
        raise UsageError(f"--fleet: not a name for a queue: {args.fleet!r} ({NAME_RULE})")
    if args.priority is not None and abs(args.priority) > HIGHEST:
        raise UsageError(f"--priority: between -{HIGHEST} and {HIGHEST}")
    if len(args.need) > MOST_NEEDS or not all(map(is_machine, args.need)):
        raise UsageError(f"--need: at most {MOST_NEEDS} labels, of letters, digits, - and _")
    memory = 0 if args.memory is None else read_size("--memory", args.memory)
    on_lost = args.on_lost or FAIL
    hold = read_positive("--hold", args.hold) or default_hold(on_lost)
    if not SHORTEST <= hold <= LONGEST:
        raise UsageError(f"--hold: between {human(SHORTEST)} and {human(LONGEST)}")
    if args.name is not None and not is_name(args.name):
        raise UsageError(f"not a name for a job: {args.name!r} ({JOB_NAME_RULE})")
    return QueuedJob(
        args.fleet,
        "",
        priority=args.priority or 0,
        needs=list(dict.fromkeys(args.need)),
        memory=memory,
        on_lost=on_lost,
        hold=hold,
        name=args.name or "",
    )


def _task_of(args: argparse.Namespace) -> Task:
    options.check_command(args)
    _check_policy(args)
    if args.stdin not in (NULL, INHERIT, PIPE):
        raise UsageError("--stdin @FILE is a file of this machine: a job of a queue has null or pipe")
    words: list[str] = args.command
    return Task(
        argv=words or ["/bin/sh", "-c", args.shell],
        shell=args.shell,
        **_where(args, args.cwd),
        env=split_pairs("--env", args.env),
        labels=_labels_of(args),
        limits=_limits_of(args),
        retry=args.retry,
        pty=bool(args.pty),
        keep=args.keep,
        stdin=PIPE if args.stdin == PIPE or args.pty else NULL,
    )


def _where(args: argparse.Namespace, cwd: str | None) -> dict[str, Any]:
    """Return the fields of a task that say where it runs: in a directory of the worker's machine, or in a checkout."""
    if args.checkout is None:
        return {"cwd": os.path.abspath(cwd or os.getcwd())}
    checkout = parse_checkout(args.checkout, cwd)
    return {"cwd": checkout.shown, "checkout": checkout.to_dict()}


def _check_policy(args: argparse.Namespace) -> None:
    if args.policy is not None:
        raise UsageError("--policy is a file of this machine: the worker takes the policy of its own")


def _limits_of(args: argparse.Namespace) -> dict[str, str]:
    options.requested_limits(args)  # a mistake is found here, and not on the worker
    return {name: str(value) for name in LIMIT_NAMES if (value := getattr(args, name)) is not None}


def _labels_of(args: argparse.Namespace) -> dict[str, str]:
    labels = split_pairs("--label", args.label)
    labels |= {NAME: args.name} if args.name else {}
    return labels | ({NOTIFY: ",".join(dict.fromkeys(args.notify))} if args.notify else {})


# --- finding one ------------------------------------------------------------------------------------------------


async def named_in_queues(connection: Connection, names: list[str]) -> dict[str, QueuedJob]:
    """Return which of these names are jobs of a queue."""
    mirror = await queues.everything(connection) if names else queues.Mirror("*")
    found = {name: found_by_name(mirror.jobs, name) for name in names}
    if LAST in found:
        found[LAST] = submitted_last(mirror.jobs, (await connection.rows()).values())
    return {name: queues.one_of(jobs, name) for name, jobs in found.items() if jobs}


async def ran_as(connection: Connection, job: QueuedJob) -> tuple[str, str]:
    """Return the machine that runs a job, or has run it, and its id there; raise NotRunYet if there is none."""
    if job.ran_as:
        return job.machine, job.ran_as
    if job.state not in (QUEUED, ENDED):
        word = (await queues.holds(connection, job.queue)).get(job.id, (0, b"{}"))[1]
        told = values.parse_object(word) or {}
        if told.get("attempt") == job.attempt and (found := values.text(told.get("job"))):
            return job.machine, found
    raise NotRunYet(job)


def row_of_taken(job: QueuedJob, ran_as: str) -> dict[str, Any]:
    """Return the row of a job whose machine has not published it (yet), by what its queue says."""
    return queued_row(job, (), QueueSettings(), (), {}) | {"jobId": ran_as, "status": "running", "phase": "running"}


# --- the commands about one that runs nowhere -------------------------------------------------------------------


async def of_waiting(connection: Connection, name: str, args: argparse.Namespace, job: QueuedJob) -> int:
    """Run a command about a job that waits, or that ended without having run; return its exit code."""
    reporter = StderrReporter()
    if name == "status":
        await _status(connection, args, job)
        return 0
    if name == "cancel":
        changed = await queues.cancel_waiting(connection, job, _BY, force=args.force)
        if job.state == ENDED:
            reporter.line(f"job {job.id} has already ended: {job.why}")
        elif changed.state != ENDED:
            reporter.line(f"job {job.id} was taken by {changed.machine} just now: cancel it again")
            return 1
        else:
            left = "it never ran" if job.state == QUEUED else f"{job.machine} ends it when it is online again"
            reporter.line(f"job {job.id}: {changed.why}; {left}")
        if args.json:
            output.print_json(changed.to_json())
        return 0
    if name == "result":
        if args.json:
            output.print_json(job.to_json())
        reporter.line(f"job {job.id}: {job.why}" if job.state == ENDED else str(NotRunYet(job)))
        return _code(job) if job.state == ENDED else 0
    raise NotRunYet(job)


async def cancel_in_queues(connection: Connection, queued: Sequence[QueuedJob]) -> None:
    """Cancel in their queues, too, the jobs that were ended where they ran.

    A living worker says by itself how its job has ended. Without one the job would wait for the next, to run again;
    that a worker is dead is known when its last word is not believed any more.
    """
    deadline = time.monotonic() + BELIEVED + _LOOK
    for job in queued:
        known = await queues.newest(connection, job) or job
        while lives := known.state == RUNNING and await _is_there(connection, known.worker):
            if time.monotonic() >= deadline:
                break  # it lives, and is keeping what the job has changed
            await asyncio.sleep(_AGAIN)
            known = await queues.newest(connection, known) or known
        if not lives and known.state != ENDED:
            changed = await queues.cancel_waiting(connection, known, _BY, force=True)
            StderrReporter().line(f"job {job.id}: {changed.why}; it is not run again")


async def _is_there(connection: Connection, worker: str) -> bool:
    return worker in [each.id for each in await queues.workers(connection)]


async def _status(connection: Connection, args: argparse.Namespace, job: QueuedJob) -> None:
    mirror = await queues.everything(connection, job.queue)
    workers, machines = await queues.workers(connection), await connection.machines()
    row = queued_row(job, list(mirror.jobs.values()), mirror.settings(job.queue), workers, machines)
    if args.json:
        output.print_json(row)
        return
    shown = {
        "job": f"{job.name} ({job.id})" if job.name else job.id,
        "command": job.command,
        "checkout": job.checkout,
        "queue": job.queue,
        "state": row["status"],
        "why": row["why"],
        "since": times.with_age(job.created, utc=args.utc, now=time.time()),
        "needs": ", ".join(job.needs),
        "priority": str(job.priority) if job.priority else "",
        "attempt": str(job.attempt) if job.attempt else "",
    }
    for name, text in shown.items():
        if text:
            output.print_wrapped(text[:1000], head=f"{name:<10} ")


async def end_of_queued(connection: Connection, job: QueuedJob) -> dict[str, Any]:
    """Return how a job of a queue ended, as the fields of a last event, when it has."""
    mirror, changed = queues.Mirror(job.queue), asyncio.Event()

    def hear(subject: str, place: int, data: bytes) -> None:
        if mirror.take(subject, place, data):
            changed.set()

    unheard = await connection.told(f"unhang.queue-live.{job.queue}.job.{job.id}", hear)
    try:
        while True:
            changed.clear()
            try:
                found = await queues.newest(connection, job) or job
            except ServerAway:
                if connection.closed:
                    raise
                found = job
            if found.state == ENDED:
                return _fields(found)
            try:
                async with asyncio.timeout(_LOOK):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        await unheard()


def _fields(job: QueuedJob) -> dict[str, Any]:
    error = {"code": ELOST} if job.phase == "lost" else {}
    return {"status": job.status, "exitCode": job.exit_code, "message": job.why, "error": error}


def _code(job: QueuedJob) -> int:
    from unhang.core import outcome

    return outcome.exit_code(_fields(job))
