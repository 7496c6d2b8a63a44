"""A task for headless Claude Code as a job: which program, which limits, which plan; and what became of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from unhang.agents.base import job as base
from unhang.agents.base.job import JobOptions
from unhang.agents.base.program import AgentProgram
from unhang.agents.claude.plan import INSTALL, READ_ONLY_MODE, ClaudePlan
from unhang.agents.claude.report import report
from unhang.core.limit_request import LimitRequest
from unhang.core.values import text_of, whole_of
from unhang.errors import UsageError
from unhang.jobs.handle import Job, attach
from unhang.jobs.home import state_home
from unhang.jobs.request import Prepared

PROTOCOL = "claude"
PROGRAM = AgentProgram(
    name="claude",
    variable="UNHANG_CLAUDE",
    install=INSTALL,
    needed_for="`unhang claude run`",
    version_word=0,  # "2.1.325 (Claude Code)"
    oldest=(2, 1, 325),
    works="run and resume, interrupted by its own protocol; hooks and plugin",
    attempt="unhang claude run",
)
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# An event holds this much of a result, or less where the whole would be too long for a line; stdout holds all of it.
_CUT = 1500
_ELLIPSIS = "…"


def plan_here(value: dict[str, Any]) -> ClaudePlan:
    """Return the plan that another machine has made, with the program as this machine has it. Raises SpawnError."""
    plan = ClaudePlan.from_json(value)
    return replace(plan, claude=PROGRAM.find(None if plan.claude == PROGRAM.name else plan.claude))


def prepare(plan: ClaudePlan, asked: LimitRequest, options: JobOptions) -> Prepared:
    """Return the job that carries out a plan, ready to be launched. Raises UsageError."""
    base.check_task(plan.task)
    category = base.READ_ONLY if plan.permission_mode == READ_ONLY_MODE else base.WRITE
    resolved = base.resolve_job(PROTOCOL, asked, category, options)
    plan = replace(plan, grace=resolved.limits.grace, stall=resolved.stall())
    return resolved.prepare("claude", plan, asks=False)


def session_of(name: str) -> str:
    """Return the id of a session, given as itself or as a job that worked on it. Raises UsageError if it had none."""
    if _SESSION.fullmatch(name):
        return name.lower()
    job = attach(state_home(), name)
    found = text_of(report(job.events()), "sessionId")
    if not _SESSION.fullmatch(found):  # it becomes a word of a command line
        raise UsageError(f"job {job.id} has no Claude session: it ended before one was opened, or is no Claude job")
    return found


def with_agent_report(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a job, with what Claude did as `claude`."""
    known = report(job.events())
    text, printed = text_of(known, "result"), whole_of(result, "stdout")
    is_cut = len(text) >= _CUT or text.endswith(_ELLIPSIS)
    if is_cut and printed.startswith(text.removesuffix(_ELLIPSIS)):
        known["result"] = printed.removesuffix("\n")
    return result | {"claude": known}
