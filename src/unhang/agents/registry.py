"""The agents that unhang drives: the one place that lists them.

Each name in PROTOCOLS is a package in this folder, with the modules that README.md names. The record of a job says
which one drove it (`agent.protocol`).
"""

from __future__ import annotations

import importlib

from unhang.core.values import mapping_of, text_of
from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from unhang.agents.base.job import JobOptions
    from unhang.agents.base.program import AgentProgram
    from unhang.core.limit_request import LimitRequest
    from unhang.jobs.handle import Job
    from unhang.jobs.request import Prepared

    class AgentJob(Protocol):
        """What the module `job` of each agent's package offers to the faces.

        mypy checks each module against this in tests/agents/test_registry.py.
        """

        PROTOCOL: str

        @property
        def PROGRAM(self) -> AgentProgram | None:  # noqa: N802 - a constant of the module
            """Return the agent's program; None if its agents have one each."""

        def plan_here(self, value: dict[str, Any]) -> Any:
            """Return the plan that another machine has made, with the program as this machine has it.

            Raises SpawnError.
            """

        def prepare(self, plan: Any, asked: LimitRequest, options: JobOptions) -> Prepared:
            """Return the job that carries out a plan of this agent, ready to be launched. Raises UsageError."""

        def with_agent_report(self, job: Job, result: dict[str, Any]) -> dict[str, Any]:
            """Return a result of a job, with what its agent did."""


PROTOCOLS = ("codex", "claude", "acp")


def job_module(protocol: str) -> AgentJob:
    """Return the module `job` of an agent's package. It is only loaded here: most commands need none."""
    from typing import cast

    return cast("AgentJob", importlib.import_module(f"unhang.agents.{protocol}.job"))


def from_elsewhere(agent: dict[str, Any], asked: LimitRequest, options: JobOptions) -> Prepared:
    """Return the job of a plan that another machine has made (`protocol`, `plan`). Raises UsageError or SpawnError."""
    protocol = text_of(agent, "protocol")
    if protocol not in PROTOCOLS:
        raise UsageError(f"this version knows no agent by the protocol {protocol!r}")
    module = job_module(protocol)
    try:
        plan = module.plan_here(mapping_of(agent, "plan"))
    except TypeError:
        raise UsageError(f"the plan of the {protocol} task is not whole") from None
    return module.prepare(plan, asked, options)


def programs() -> list[AgentProgram]:
    """Return the programs of all agents that have one of their own."""
    return [found for protocol in PROTOCOLS if (found := job_module(protocol).PROGRAM) is not None]


def with_agent_report(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result or a status with `codex`, `claude` or `agent` beside it, if an agent did the job."""
    protocol = text_of(job.spec, "agent", "protocol")
    return job_module(protocol).with_agent_report(job, result) if protocol in PROTOCOLS else result
