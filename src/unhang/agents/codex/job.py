"""A turn of Codex's as a job: which program, which limits, which words; and afterwards what became of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from unhang.agents.base import job as agent_terms
from unhang.agents.base.job import Known, Wanted
from unhang.agents.base.task_input import handed_over
from unhang.agents.codex.plan import ASK, COMPACT, EXEC, MODULE, RUN, Plan
from unhang.agents.codex.report import report
from unhang.core.fields import text_of
from unhang.core.limit_request import LimitRequest
from unhang.errors import UsageError
from unhang.jobs.handle import Job
from unhang.jobs.request import Prepared

VARIABLE = "UNHANG_CODEX"
_INSTALL = "install it (npm install -g @openai/codex), or say where it is with --codex"
_KNOWN = Known(
    word=-1,  # "codex-cli 0.166.0"
    oldest=(0, 162, 0),
    works="run, resume, review, compact, recover over its app server; run and resume over exec",
    attempt="unhang codex run",
)


def find_codex(asked: str | None = None) -> str:
    """The program: as asked for, $UNHANG_CODEX, or the one on the PATH. Raises SpawnError with what to do."""
    return agent_terms.find(asked or os.environ.get(VARIABLE) or "codex", _INSTALL)


def version_of(program: str) -> tuple[str | None, str]:
    return agent_terms.version_of(program, _KNOWN)


def prepared(plan: Plan, asked: LimitRequest, wanted: Wanted) -> tuple[Prepared, bytes | None]:
    """And what is to be given to its stdin: a task too long for a word of a command line."""
    if plan.verb in (RUN, EXEC):
        agent_terms.check_task(plan.task)
    reads = plan.sandbox == "read-only" or plan.verb == COMPACT
    terms = agent_terms.terms(MODULE, asked, agent_terms.READ_ONLY if reads else agent_terms.WRITE, wanted)
    task, data = handed_over(plan.task)
    if data is not None and plan.approvals == ASK:
        raise agent_terms.refuse_long("--approvals")
    plan = replace(plan, task=task, grace=terms.limits.grace, stall=terms.stall())
    return terms.job("codex", plan.words(), asks=plan.approvals == ASK), data


def report_of(job: Job) -> dict[str, Any]:
    return report(job.events())


def thread_of(job: Job) -> str:
    """The thread that a job of Codex's worked on. Raises UsageError if it had none."""
    found = text_of(report_of(job), "threadId")
    if not found or found.startswith("-") or not found.isprintable():  # it becomes a word of a command line
        raise UsageError(f"job {job.id} has no Codex thread: it ended before one was opened, or is no Codex job")
    return found


def shown(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result with what is known of Codex beside it."""
    return result | {"codex": report_of(job)}
