"""A task for headless Claude Code as a job: which program, which limits, which words; and what became of it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from unhang.agents.base import job as agent_terms
from unhang.agents.base.job import Known, Wanted
from unhang.agents.base.task_input import handed_over
from unhang.agents.claude.plan import MODULE, READ_ONLY_MODE, Plan
from unhang.agents.claude.report import report
from unhang.core.fields import text_of, whole_of
from unhang.core.limit_request import LimitRequest
from unhang.errors import UsageError
from unhang.jobs.handle import Job, attach, here
from unhang.jobs.request import Prepared

VARIABLE = "UNHANG_CLAUDE"
_INSTALL = "install it (npm install -g @anthropic-ai/claude-code), or say where it is with --claude"
_KNOWN = Known(
    word=0,  # "2.1.325 (Claude Code)"
    oldest=(2, 1, 325),
    works="run and resume, interrupted by its own protocol; hooks and plugin",
    attempt="unhang claude run",
)
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# an event holds this much of a result, or less where the whole would be too long for a line; stdout holds all of it
_CUT = 1500
_ELLIPSIS = "…"


def find_claude(asked: str | None = None) -> str:
    """The program: as asked for, $UNHANG_CLAUDE, or the one on the PATH. Raises SpawnError with what to do."""
    return agent_terms.find(asked or os.environ.get(VARIABLE) or "claude", _INSTALL)


def version_of(program: str) -> tuple[str | None, str]:
    return agent_terms.version_of(program, _KNOWN)


def prepared(plan: Plan, asked: LimitRequest, wanted: Wanted) -> tuple[Prepared, bytes | None]:
    """And what is to be given to its stdin: a task too long for a word of a command line."""
    agent_terms.check_task(plan.task)
    category = agent_terms.READ_ONLY if plan.permission_mode == READ_ONLY_MODE else agent_terms.WRITE
    terms = agent_terms.terms(MODULE, asked, category, wanted)
    task, data = handed_over(plan.task)
    # a stall is explained a moment before the keeper notices it
    plan = replace(plan, task=task, grace=terms.limits.grace, stall=0.9 * terms.stall())
    return terms.job("claude", plan.words(), asks=False), data


def report_of(job: Job) -> dict[str, Any]:
    return report(job.events())


def session_of(name: str) -> str:
    """A session's id, or the job that worked on it. Raises UsageError if it had none."""
    if _SESSION.fullmatch(name):
        return name.lower()
    job = attach(here(), name)
    found = text_of(report_of(job), "sessionId")
    if not _SESSION.fullmatch(found):  # it becomes a word of a command line
        raise UsageError(f"job {job.id} has no Claude session: it ended before one was opened, or is no Claude job")
    return found


def shown(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result with what is known of Claude beside it."""
    known = report_of(job)
    text, printed = text_of(known, "result"), whole_of(result, "stdout")
    is_cut = len(text) >= _CUT or text.endswith(_ELLIPSIS)
    if is_cut and printed.startswith(text.removesuffix(_ELLIPSIS)):
        known["result"] = printed.removesuffix("\n")
    return result | {"claude": known}
