"""How the plan of an agent becomes a job: which policy and limits hold, and what its record says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from unhang.agents.base.plan import LONGEST_TASK, AgentPlan
from unhang.core.limit_request import LimitRequest
from unhang.core.limits import Limits
from unhang.core.policy import builtin
from unhang.core.policy.model import Policy
from unhang.core.policy.resolve import resolve
from unhang.core.spec import NULL, PIPE
from unhang.errors import UsageError
from unhang.jobs.request import AgentTask, Prepared, prepare
from unhang.procs import executable
from unhang.store import policy_file

READ_ONLY, WRITE, CLOUD = "agent-read-only", "agent-write", "agent-cloud"
# Why nothing moves is said after a minute at the latest.
STALL = 60.0


def policy_for(category: str, cwd: str, file: str | None = None, *, bounded: bool) -> Policy:
    """Return the policy that holds in this directory, and knows the category.

    `bounded`: the limits that are asked for are held to the category's bounds. A person's own numbers are taken as
    they are; the bounds are for callers that act for a model.
    """
    policy = policy_file.find(file, cwd, os.environ)
    known = policy.categories.get(category) or builtin.categories()[category]
    if not bounded and known.bounds == builtin.AGENT_BOUNDS:
        known = known.replace(bounds=None)
    return policy.replace(categories=policy.categories | {category: known})


class JobOptions(NamedTuple):
    """What the starter of a job wants of it, whatever the agent is."""

    cwd: str | None = None
    policy: str | None = None
    bounded: bool = False
    foreground: bool = False
    retry: int | None = None
    labels: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = None


class ResolvedJob(NamedTuple):
    """Resolved directory, policy and limits of an agent's job."""

    protocol: str
    folder: str
    rules: Policy
    asked: LimitRequest
    limits: Limits
    options: JobOptions
    category: str

    def stall(self) -> float:
        """Return seconds after which the driver explains a silence: before the idle limit warns."""
        idle = self.limits.idle
        return min(self.limits.stall or STALL, STALL if idle is None else idle / 2)

    def prepare(self, name: str, plan: AgentPlan, *, asks: bool) -> Prepared:
        """Return the job that carries out a plan. `asks`: the agent may want an answer from a person."""
        return prepare(
            _driver(self.protocol),
            cwd=self.folder,
            env=self.options.env,
            stdin=PIPE if asks else NULL,
            foreground=self.options.foreground,
            labels={"agent": name} | dict(self.options.labels or {}),
            policy=self.rules,
            asked=self.asked,
            retry=self.options.retry,
            agent=AgentTask(
                self.protocol,
                name,
                plan.mode,
                plan.title,
                replace(plan, policy=self.options.policy).to_json(),
                self.category,
            ),
        )


def _driver(protocol: str) -> list[str]:
    return executable.module(f"unhang.agents.{protocol}.driver")


def resolve_job(protocol: str, asked: LimitRequest, category: str, options: JobOptions) -> ResolvedJob:
    """Return the directory, the policy and the limits of a job.

    `category`: the one that holds if the caller asked for no other.
    """
    folder = os.path.abspath(os.path.expanduser(options.cwd)) if options.cwd else os.getcwd()
    asked = asked.replace(category=asked.category or category, liveness=asked.liveness or "agent")
    rules = policy_for(asked.category or category, folder, options.policy, bounded=options.bounded)
    limits = resolve(_driver(protocol), rules, asked).limits
    return ResolvedJob(protocol, folder, rules, asked, limits, options, category)


def check_task(*tasks: str) -> None:
    """Raise UsageError if a task is empty, or if they are too long for the record of a job."""
    if not tasks or not all(task.strip() for task in tasks):
        raise UsageError("the task is empty")
    if sum(len(task.encode("utf-8", "surrogatepass")) for task in tasks) > LONGEST_TASK:
        raise UsageError(f"the task is longer than {LONGEST_TASK >> 20} MiB: put it into a file, and name the file")
