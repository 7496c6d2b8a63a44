"""The task of an ACP agent as a job: which program, which limits, which plan; and afterwards what became of it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Any

from unhang.agents.acp import catalogue
from unhang.agents.acp.plan import AcpPlan
from unhang.agents.acp.protocol.requests import ASK
from unhang.agents.acp.report import report
from unhang.agents.base import job as base
from unhang.agents.base import program
from unhang.agents.base.job import JobOptions
from unhang.agents.base.program import AgentProgram
from unhang.core.limit_request import LimitRequest
from unhang.core.values import dig, whole_of
from unhang.errors import EXIT_NOT_FOUND, SpawnError, UsageError
from unhang.jobs.handle import Job
from unhang.jobs.request import Prepared
from unhang.procs.spawn import find_program

PROTOCOL = "acp"
PROGRAM: AgentProgram | None = None  # each agent of the catalogue has its own
# Nothing tells of progress while an agent starts, and one that is not logged in may wait for ever.
STARTUP = 90.0
# --idle off: the other budgets stand in the place of the idle limit, so there has to be one.
_ENDLESS = 366 * 86400.0


def find_agent(name: str | None, command: str | None) -> tuple[str, ...]:
    """Return the words that start an agent: of its recipe, or as they were given. Raises with what to do."""
    return _found(name, words_of(name, command))


def words_of(name: str | None, command: str | None) -> tuple[str, ...]:
    """Return the words that start an agent on any machine. Raises with what to do."""
    if command is not None:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--command: {error}") from None
        if not words:
            raise UsageError("--command is empty")
        return tuple(words)
    recipe = catalogue.find(name or "")
    if recipe is None:
        known = ", ".join(catalogue.NAMES)
        text = f"no recipe for the agent {name!r} (there are: {known}); --command starts any other"
        raise SpawnError(text, EXIT_NOT_FOUND)
    return tuple(recipe.argv)


def _found(name: str | None, words: tuple[str, ...]) -> tuple[str, ...]:
    """The same words with the program as this machine has it. Raises SpawnError."""
    recipe, hint = catalogue.find(name or ""), "give --command a program that there is"
    if recipe is not None and words == tuple(recipe.argv):
        hint = f"install {recipe.title} ({recipe.install}), or say how it is started with --command"
    return (program.find(words[0], hint), *words[1:])


def plan_here(value: dict[str, Any]) -> AcpPlan:
    """Return the plan that another machine has made, with the program as this machine has it. Raises SpawnError."""
    plan = AcpPlan.from_json(value)
    if not plan.argv:
        raise UsageError("the plan does not say how the agent is started")
    return replace(plan, argv=_found(plan.agent, plan.argv))


def recipes() -> list[dict[str, Any]]:
    """Return every agent with a recipe, and where its program is."""
    found: list[dict[str, Any]] = []
    for recipe in catalogue.listed():
        try:
            where: str | None = os.path.abspath(find_program(recipe.argv[0], os.environ.get("PATH", os.defpath)))
        except SpawnError:
            where = None
        entry = {"agent": recipe.name, "title": recipe.title, "command": " ".join(recipe.argv), "program": where}
        found.append(entry | {"install": recipe.install, "login": recipe.login})
    return found


def check_mcp(entry: str) -> str:
    """Return a server given as NAME=COMMAND or NAME=URL, if it is one."""
    name, _, rest = entry.partition("=")
    try:
        usable = bool(name and shlex.split(rest))
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"--mcp: {entry!r} is not NAME=COMMAND or NAME=URL")
    return entry


def prepare(plan: AcpPlan, asked: LimitRequest, options: JobOptions) -> Prepared:
    """Return the job that carries out a plan, ready to be launched. Raises UsageError."""
    base.check_task(*plan.tasks)
    if asked.idle == 0.0:
        asked = asked.replace(idle=_ENDLESS)
    resolved = base.resolve_job(PROTOCOL, asked, base.WRITE, options)
    stall = resolved.stall()
    plan = replace(plan, grace=resolved.limits.grace, stall=stall, idle=resolved.limits.idle)
    name = plan.agent or os.path.basename(plan.argv[0])
    return resolved.prepare(name, plan, asks=plan.permissions == ASK)


def with_agent_report(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a job, with what the agent did as `agent`. What it wrote is on stdout, and whole there."""
    found = report(job.events())
    if printed := whole_of(result, "stdout"):
        found["text"] = printed.removesuffix("\n")
    budget = found["budget"]
    if budget is not None and budget["limitMs"] is None:
        applied = dig(result, "limits", "hardMs" if budget["name"] == "hard" else "idleMs", "value")
        found["budget"] = budget | {"limitMs": applied}
    return result | {"agent": found}
