"""One job as a page shows it: its status with excerpts of the output in the place of all of it."""

from __future__ import annotations

from unhang.agents import registry
from unhang.core.spec import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.jobs.handle import Job

_MOST_EXCERPT = 1 << 16
_ASKED = ("cwd", "labels", "stdin", "pty", "kind", "category", "createdAt")


def look_at(job: Job) -> dict[str, Any]:
    """Return what `unhang status --json` prints, with what was asked for, and at most 64 KiB of each stream."""
    status = registry.with_agent_report(job, job.status())
    for stream in ("stdout", "stderr"):
        status[stream] = status[stream][-_MOST_EXCERPT:]
    spec = job.spec
    return status | {name: spec.get(name) for name in _ASKED} | {"command": command_line(spec)}
