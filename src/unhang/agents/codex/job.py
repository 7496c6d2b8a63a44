"""A turn of Codex as a job: which program, which limits, which plan; and afterwards what became of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unhang.agents.base import job as base
from unhang.agents.base.job import JobOptions
from unhang.agents.codex import program
from unhang.agents.codex.plan import ASK, COMPACT, EXEC, RUN, CodexPlan
from unhang.agents.codex.report import report
from unhang.core.limit_request import LimitRequest
from unhang.core.spec import NULL
from unhang.core.values import text_of
from unhang.errors import UsageError
from unhang.jobs.handle import Job
from unhang.jobs.request import Prepared
from unhang.jobs.request import prepare as prepare_command

PROTOCOL = "codex"
PROGRAM = program.PROGRAM


def plan_here(value: dict[str, Any]) -> CodexPlan:
    """Return the plan that another machine has made, with the program as this machine has it. Raises SpawnError."""
    plan = CodexPlan.from_json(value)
    return replace(plan, codex=PROGRAM.find(None if plan.codex == PROGRAM.name else plan.codex))


def prepare(plan: CodexPlan, asked: LimitRequest, options: JobOptions) -> Prepared:
    """Return the job that carries out a plan, ready to be launched. Raises UsageError."""
    if plan.verb in (RUN, EXEC):
        base.check_task(plan.task)
    reads = plan.sandbox == "read-only" or plan.verb == COMPACT
    resolved = base.resolve_job(PROTOCOL, asked, base.READ_ONLY if reads else base.WRITE, options)
    plan = replace(plan, grace=resolved.limits.grace, stall=resolved.stall())
    return resolved.prepare("codex", plan, asks=plan.approvals == ASK)


def prepare_cloud(
    program: str, words: list[str], folder: str, labels: dict[str, str], *, stdin: str = NULL, foreground: bool
) -> Prepared:
    """Make a job of `codex cloud WORDS`: its tasks run elsewhere, so that only its own output is watched.

    `foreground`: it ends with its caller. A call of a tool hands it over instead, and it goes on.
    """
    rules = base.policy_for(base.CLOUD, folder, bounded=False)
    asked = LimitRequest(category=base.CLOUD, liveness="output")
    argv = [program, "cloud", *words]
    return prepare_command(
        argv,
        cwd=folder,
        stdin=stdin,
        foreground=foreground,
        policy=rules,
        asked=asked,
        labels={"agent": "codex"} | labels,
    )


def thread_of(job: Job) -> str:
    """Return the thread that a Codex job worked on. Raises UsageError if it had none."""
    found = text_of(report(job.events()), "threadId")
    if not found or found.startswith("-") or not found.isprintable():  # it becomes a word of a command line
        raise UsageError(f"job {job.id} has no Codex thread: it ended before one was opened, or is no Codex job")
    return found


def with_agent_report(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a job, with what Codex did as `codex`."""
    return result | {"codex": report(job.events())}
