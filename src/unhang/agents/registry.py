"""Which agent a job drove, and what is known of it, for whoever asks for the job's result afterwards."""

from __future__ import annotations

from unhang.core.fields import items_of
from unhang.core.spec import AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.jobs.handle import Job


def shown(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A result or a status with `codex`, `claude` or `agent` beside it, if it is such a job; else as it is."""
    if job.spec.get("kind") != AGENT:
        return result
    words = items_of(job.spec, "argv")
    if "unhang.agents.claude.driver" in words:
        from unhang.agents.claude import job as clauding

        return clauding.shown(job, result)
    if "unhang.agents.acp.driver" in words:
        from unhang.agents.acp import job as acping

        return acping.shown(job, result)
    if "unhang.agents.codex.driver" in words:
        from unhang.agents.codex import job as codexing

        return codexing.shown(job, result)
    return result
