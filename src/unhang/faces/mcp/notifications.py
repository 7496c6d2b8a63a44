"""What a person sees while a call waits: progress, a warning before a limit, an error after it.

Models never see notifications. Everything they say is also in the events and in the result.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, get_args

from mcp_types import LoggingLevel

from unhang.core import events as ev
from unhang.core import mask
from unhang.core.notices import audience
from unhang.jobs.handle import Job

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

LOGGER = "unhang-watchdog"
LEVELS: tuple[str, ...] = get_args(LoggingLevel)  # from debug up
_LEVEL_KEY = "unhang.level"


def set_level(session: Any, level: str) -> None:
    """Keep the level of `logging/setLevel` with the connection: the SDK neither keeps nor applies it."""
    session._connection.state[_LEVEL_KEY] = level


def wanted(session: Any, level: str) -> bool:
    """Whether the level set by `logging/setLevel` lets this one through. The SDK itself applies the modern era's."""
    return wanted_by(session._connection, level)


def wanted_by(connection: Any, level: str) -> bool:
    """The same for a connection on which no call is in flight."""
    least = connection.state.get(_LEVEL_KEY, "debug")
    return LEVELS.index(level) >= LEVELS.index(least)


class Notifications:
    """The notifications of one call: `tell` is called with each event, `progress` now and then."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._value = 0.0
        self._began = time.monotonic()

    async def progress(self, line: str, total: float | None = None) -> None:
        """Report progress. Its value is the time that this call has taken, so that it always rises."""
        value = max(self._value + 0.001, round(time.monotonic() - self._began, 3))
        self._value = value
        await self._ctx.report_progress(value, total if total is not None and total >= value else None, line)

    async def tell(self, job: Job, event: ev.Event) -> None:
        """Send a log message if this event is for people and the client wants its level."""
        level = audience(event).client
        if level and wanted(self._ctx.session, level):
            await self._log(level, log_data(job.id, event))

    async def _log(self, level: Any, data: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            # deprecated as of 2026-07-28, with a year's window; clients show it until then
            warnings.simplefilter("ignore")
            sending = self._ctx.session.send_log_message(
                level=level, data=data, logger=LOGGER, related_request_id=self._ctx.request_id
            )
        await sending


def log_data(job_id: str, event: ev.Event) -> dict[str, Any]:
    """Return the data of a log message, with the names that delegating servers have always used."""
    data = {"message": mask.line(event.get("message", "")), "taskId": job_id, "phase": event.get("phase")}
    for name in ("idleMs", "wallClockMs", "willAbortInMs", "reason", "prompt"):
        if event.get(name) is not None:
            data[name] = event[name]
    if event["phase"] == "timeout":
        idle = event.get("reason") == "no_output_timeout"
        data |= {"code": "EIDLE" if idle else "ETIMEDOUT", "kind": "inactivity" if idle else "deadline"}
    if event.get("diagnosis"):
        data["why"] = event["diagnosis"].get("reason")
    return data
