"""What a person sees while a call waits: progress that says something, a warning before a limit, an error after it.

Models never see notifications; everything said here is also in the events and in the result.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, get_args

from mcp_types import LoggingLevel

from unhang.core import events as ev
from unhang.core import mask, plain_text, values
from unhang.core.durations import human
from unhang.core.notices import audience
from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.jobs import control_client
from unhang.jobs.handle import Job
from unhang.procs import clock

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

LOGGER = "unhang-watchdog"
LEVELS: tuple[str, ...] = get_args(LoggingLevel)  # from debug up
_LONGEST = 190
_LEVEL_KEY = "unhang.level"


def set_level(session: Any, level: str) -> None:
    """logging/setLevel of the handshake era. The SDK neither keeps nor applies it; the connection is where it lasts."""
    session._connection.state[_LEVEL_KEY] = level


def wanted(session: Any, level: str) -> bool:
    """The modern era's opt-in for each request is the SDK's own business."""
    least = session._connection.state.get(_LEVEL_KEY, "debug")
    return LEVELS.index(level) >= LEVELS.index(least)


class Notifications:
    """Of one call. `tell` is given events as they come, `progress` is called now and then."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._value = 0.0
        self._began = time.monotonic()

    async def progress(self, message: str, total: float | None = None) -> None:
        """The value is the time this call has taken: it rises whatever the job does."""
        value = max(self._value + 0.001, round(time.monotonic() - self._began, 3))
        self._value = value
        await self._ctx.report_progress(value, total if total is not None and total >= value else None, message)

    async def tell(self, job: Job, event: ev.Event) -> None:
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
    """`idleMs`, `willAbortInMs` and `taskId` as delegating servers have always sent them."""
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


def progress_line(job: Job, view: View) -> str:
    """Elapsed, the last line, what it waits for, how long until it is stopped. Asks the keeper; not for the loop."""
    started = values.moment(view.started_at)
    elapsed = max(0.0, clock.wall() - started) if started is not None else 0.0
    said = [human(elapsed)]
    if view.needs_input is not None:
        prompt = view.needs_input.get("prompt")
        said.append(f"waits for input: {plain_text.quoted(prompt, 60) if prompt else '(no prompt)'}")
    elif view.diagnosis is not None and view.silent:
        said.append(str(view.diagnosis.get("reason") or ""))
    elif view.heartbeat:
        said.append(f"says {plain_text.quoted(view.heartbeat, 60)}")
    left = time_left(job, view, elapsed)
    if left is not None:
        said.append(f"stopped in {human(left[0])} {left[1]}")
    line = plain_text.last_line(_recent(job), 80)
    if line:
        said.insert(1, plain_text.quoted(line, 80))
    return plain_text.one_line(mask.line(" · ".join(part for part in said if part)), _LONGEST)


def _recent(job: Job) -> bytes:
    """The stream that was written to last."""
    import os

    newest, at = "stdout", -1.0
    for name in ("stdout", "stderr"):
        for suffix in ("", ".tail"):
            try:
                found = os.stat(job.place.stream(name) + suffix)
            except OSError:
                continue
            if found.st_size and found.st_mtime > at:
                newest, at = name, found.st_mtime
    return job.tail(newest, 1024).encode("utf-8", "replace")


def time_left(job: Job, view: View, elapsed: float) -> tuple[float, str] | None:
    """Until the nearer of its two limits, and what could move it."""
    found: list[tuple[float, str]] = []
    hard, idle = (view.limits.get(name, {}).get("value") for name in ("hardMs", "idleMs"))
    if hard is not None:
        found.append((max(0.0, hard / 1000 - elapsed), "at its hard limit"))
    if idle is not None:
        try:
            silence = control_client.ask(job.place, do="ping")["idleMs"]
            found.append((max(0.0, (idle - silence) / 1000), "unless output comes"))
        except (UnhangError, OSError, KeyError):
            pass
    return min(found, default=None)
