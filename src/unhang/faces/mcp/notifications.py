"""What a person sees while a call waits: progress, a warning before a limit, an error after it.

Models never see notifications. Everything they say is also in the events and in the result.
"""

from __future__ import annotations

import time
from typing import Any

from unhang.core import events as ev
from unhang.core import mask
from unhang.core.notices import audience
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.text import in_tool_words
from unhang.jobs.handle import Job

LOGGER = "unhang-watchdog"


class Notifications:
    """The notifications of one call: `tell` is called with each event, `progress` now and then."""

    def __init__(self, call: McpCall) -> None:
        self._call = call
        self._value = 0.0
        self._began = time.monotonic()

    async def progress(self, line: str, total: float | None = None) -> None:
        """Report progress. Its value is the time that this call has taken, so that it always rises."""
        value = max(self._value + 0.001, round(time.monotonic() - self._began, 3))
        self._value = value
        await self._call.progress(value, total if total is not None and total >= value else None, line)

    async def tell(self, job: Job, event: ev.Event) -> None:
        """Send a log message if this event is for people and the client wants its level."""
        level = audience(event).client
        if level:
            await self._call.log(level, log_data(job.id, event))


def log_data(job_id: str, event: ev.Event) -> dict[str, Any]:
    """Return the data of a log message, with the names that delegating servers have always used."""
    data = {
        "message": mask.line(in_tool_words(event, job_id).get("message", "")),
        "taskId": job_id,
        "phase": event.get("phase"),
    }
    for name in ("idleMs", "wallClockMs", "willAbortInMs", "reason", "prompt"):
        if event.get(name) is not None:
            data[name] = event[name]
    if event["phase"] == "timeout":
        idle = event.get("reason") == "no_output_timeout"
        data |= {"code": "EIDLE" if idle else "ETIMEDOUT", "kind": "inactivity" if idle else "deadline"}
    if event.get("diagnosis"):
        data["why"] = event["diagnosis"].get("reason")
    return data
