"""A task for headless Claude Code as a job: which program, which limits, which words; and what became of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unhang.agents.claude_report import report
from unhang.core.policy.model import Asked
from unhang.core.policy.resolve import resolve
from unhang.core.spec import AGENT, NULL
from unhang.drivers.claude_plan import FROM_STDIN, LONGEST_WORD, MODULE, READ_ONLY_MODE, Plan
from unhang.errors import SpawnError, UsageError
from unhang.jobs.codexing import READ_ONLY, WRITE, policy_for
from unhang.jobs.handle import Job, attach, here
from unhang.jobs.request import Prepared, prepare
from unhang.procs.spawn import find_program

VARIABLE = "UNHANG_CLAUDE"
OLDEST_KNOWN = (2, 1, 325)
_STALL = 60.0
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# an event holds this much of a result; stdout holds all of it
_CUT = 1500


def find_claude(asked: str | None = None) -> str:
    """The program: as asked for, $UNHANG_CLAUDE, or the one on the PATH. Raises SpawnError with what to do."""
    name = asked or os.environ.get(VARIABLE) or "claude"
    try:
        return os.path.abspath(find_program(name, os.environ.get("PATH", os.defpath)))
    except SpawnError as error:
        hint = "install it (npm install -g @anthropic-ai/claude-code), or say where it is with --claude"
        raise SpawnError(f"{error}: {hint}", error.exit_code) from None


def version_of(program: str) -> tuple[str | None, str]:
    """What it says of itself ("2.1.325 (Claude Code)"), and what of this works with it."""
    import subprocess

    try:
        words = [program, "--version"]
        said = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    version = said.stdout.decode("utf-8", "replace").split()[:1]
    if said.returncode != 0 or not version:
        return None, ""
    try:
        number = tuple(int(part) for part in version[0].split("-")[0].split("."))
    except ValueError:
        return version[0], "an unknown version; try `unhang claude run`"
    if number < OLDEST_KNOWN:
        return version[0], f"older than {'.'.join(map(str, OLDEST_KNOWN))}, with which nobody has tried this"
    return version[0], "run and resume, interrupted by its own protocol; hooks and plugin"


def category_of(plan: Plan) -> str:
    return READ_ONLY if plan.permission_mode == READ_ONLY_MODE else WRITE


def prepared(
    plan: Plan,
    asked: Asked,
    *,
    cwd: str | None = None,
    policy: str | None = None,
    bounded: bool = False,
    foreground: bool = False,
    retry: int | None = None,
    labels: Mapping[str, str] | None = None,
) -> tuple[Prepared, bytes | None]:
    """And what is to be given to its stdin: a task too long for a word of a command line."""
    if not plan.task.strip():
        raise UsageError("the task is empty")
    folder = os.path.abspath(os.path.expanduser(cwd)) if cwd else os.getcwd()
    category = asked.category or category_of(plan)
    rules = policy_for(category, folder, policy, bounded=bounded)
    asked = asked.replace(category=category, liveness=asked.liveness or "agent")
    data: bytes | None = None
    if len(plan.task.encode("utf-8", "surrogatepass")) > LONGEST_WORD:
        data = plan.task.encode("utf-8", "replace")
    words = [sys.executable, "-P", "-m", MODULE]
    limits = resolve(words, rules, asked).limits
    # a stall is explained a moment before the keeper notices it, and before the idle limit warns of it
    stall = 0.9 * min(limits.stall or _STALL, (limits.idle or 2 * _STALL) / 2)
    plan = replace(plan, task=FROM_STDIN if data is not None else plan.task, grace=limits.grace, stall=stall)
    found = prepare(
        [*words, *plan.words()],
        cwd=folder,
        stdin=NULL,
        foreground=foreground,
        labels={"agent": "claude"} | dict(labels or {}),
        policy=rules,
        asked=asked,
        retry=retry,
        kind=AGENT,
    )
    return found, data


def report_of(job: Job) -> dict[str, Any]:
    return report(job.events())


def session_of(name: str) -> str:
    """A session's id, or the job that worked on it. Raises UsageError if it had none."""
    if _SESSION.fullmatch(name):
        return name.lower()
    job = attach(here(), name)
    found = report_of(job)["sessionId"]
    if not found:
        raise UsageError(f"job {job.id} has no Claude session: it ended before one was opened, or is no Claude job")
    return str(found)


def shown(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result with what is known of Claude beside it."""
    known = report_of(job)
    text, printed = known.get("result"), result.get("stdout")
    if text and len(text) >= _CUT and isinstance(printed, str) and printed.startswith(text):
        known["result"] = printed.removesuffix("\n")
    return result | {"claude": known}
