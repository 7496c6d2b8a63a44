"""The agents that unhang drives: the one place that lists them.

Each is a package of this folder by the name that stands here, with the modules that README.md names. The record of a
job says which one drove it (`agent.protocol`).
"""

from __future__ import annotations

import importlib

from unhang.core.values import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from unhang.agents.base.program import AgentProgram
    from unhang.jobs.handle import Job

    class AgentJob(Protocol):
        """What the module `job` of each agent's package offers to the faces, whatever the agent."""

        PROGRAM: AgentProgram | None

        def with_agent_report(self, job: Job, result: dict[str, Any]) -> dict[str, Any]:
            """A result of a job, with what its agent did."""


PROTOCOLS = ("codex", "claude", "acp")


def job_module(protocol: str) -> AgentJob:
    """The module `job` of an agent's package. It is only loaded here: most commands need none."""
    found: Any = importlib.import_module(f"unhang.agents.{protocol}.job")
    return found  # type: ignore[no-any-return]


def programs() -> list[AgentProgram]:
    """The programs of all agents that have one of their own."""
    return [found for protocol in PROTOCOLS if (found := job_module(protocol).PROGRAM) is not None]


def with_agent_report(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result or a status with `codex`, `claude` or `agent` beside it, if an agent did the job; else as it is."""
    protocol = text_of(job.spec, "agent", "protocol")
    return job_module(protocol).with_agent_report(job, result) if protocol in PROTOCOLS else result
