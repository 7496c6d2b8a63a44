"""A turn of Codex's as a job: which program, which limits, which words; and afterwards what became of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unhang.agents.codex_report import report
from unhang.core.policy import builtin
from unhang.core.policy.model import Asked, Policy
from unhang.core.policy.resolve import resolve
from unhang.core.spec import AGENT, NULL, PIPE
from unhang.drivers.codex_plan import ASK, COMPACT, EXEC, FROM_STDIN, LONGEST_WORD, MODULE, RUN, Plan
from unhang.errors import SpawnError, UsageError
from unhang.jobs.handle import Job
from unhang.jobs.request import Prepared, prepare
from unhang.procs.spawn import find_program
from unhang.store import policyfile

VARIABLE = "UNHANG_CODEX"
READ_ONLY, WRITE, CLOUD = "agent-read-only", "agent-write", "agent-cloud"
_STALL = 60.0
OLDEST_KNOWN = (0, 162, 0)


def find_codex(asked: str | None = None) -> str:
    """The program: as asked for, $UNHANG_CODEX, or the one on the PATH. Raises SpawnError with what to do."""
    name = asked or os.environ.get(VARIABLE) or "codex"
    try:
        return os.path.abspath(find_program(name, os.environ.get("PATH", os.defpath)))
    except SpawnError as error:
        hint = "install it (npm install -g @openai/codex), or say where it is with --codex"
        raise SpawnError(f"{error}: {hint}", error.exit_code) from None


def version_of(program: str) -> tuple[str | None, str]:
    """What it says of itself, and what of this works with it."""
    import subprocess

    try:
        words = [program, "--version"]
        said = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, ""
    version = said.stdout.decode("utf-8", "replace").split()[-1:]
    if said.returncode != 0 or not version:
        return None, ""
    try:
        number = tuple(int(part) for part in version[0].split("-")[0].split("."))
    except ValueError:
        return version[0], "an unknown version; try `unhang codex run`"
    if number < OLDEST_KNOWN:
        return version[0], f"older than {'.'.join(map(str, OLDEST_KNOWN))}, with which nobody has tried this"
    return version[0], "run, resume, review, compact, recover over its app server; run and resume over exec"


def category_of(plan: Plan) -> str:
    return READ_ONLY if plan.sandbox == "read-only" or plan.verb == COMPACT else WRITE


def policy_for(category: str, cwd: str, file: str | None = None, *, bounded: bool) -> Policy:
    """The policy that holds in this directory, and knows the category. `bounded`: what is asked for is held to it.

    A person's own numbers are taken as they are; the bounds are for those who call us in a model's name.
    """
    policy = policyfile.find(file, cwd, os.environ)
    known = policy.categories.get(category) or builtin.categories()[category]
    if not bounded and known.bounds == builtin.AGENT_BOUNDS:
        known = known.replace(bounds=None)
    return policy.replace(categories=policy.categories | {category: known})


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
    if plan.verb in (RUN, EXEC) and not plan.task.strip():
        raise UsageError("the task is empty")
    folder = os.path.abspath(os.path.expanduser(cwd)) if cwd else os.getcwd()
    category = asked.category or category_of(plan)
    rules = policy_for(category, folder, policy, bounded=bounded)
    asked = asked.replace(category=category, liveness=asked.liveness or "agent")
    data: bytes | None = None
    if len(plan.task.encode("utf-8", "surrogatepass")) > LONGEST_WORD:
        if plan.approvals == ASK:
            raise UsageError("a task of more than 120 KB cannot be combined with --approvals ask: put it into a file")
        data = plan.task.encode("utf-8", "replace")
    words = [sys.executable, "-P", "-m", MODULE]
    limits = resolve(words, rules, asked).limits
    # a stall is explained before the idle limit warns of it, and never later than a minute
    stall = min(limits.stall or _STALL, (limits.idle or 2 * _STALL) / 2)
    plan = replace(plan, task=FROM_STDIN if data is not None else plan.task, grace=limits.grace, stall=stall)
    found = prepare(
        [*words, *plan.words()],
        cwd=folder,
        stdin=PIPE if plan.approvals == ASK else NULL,
        foreground=foreground,
        labels={"agent": "codex"} | dict(labels or {}),
        policy=rules,
        asked=asked,
        retry=retry,
        kind=AGENT,
    )
    return found, data


def report_of(job: Job) -> dict[str, Any]:
    return report(job.events())


def thread_of(job: Job) -> str:
    """The thread that a job of Codex's worked on. Raises UsageError if it had none."""
    found = report_of(job)["threadId"]
    if not found:
        raise UsageError(f"job {job.id} has no Codex thread: it ended before one was opened, or is no Codex job")
    return str(found)


def shown(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result with what is known of Codex beside it."""
    return result | {"codex": report_of(job)}
