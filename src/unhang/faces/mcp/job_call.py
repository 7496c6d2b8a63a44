"""A tool call that starts a job: it begins, waits as long as the call may take, and answers with the result.

A call that is cancelled, or whose client is gone, ends its job. A call whose time is over hands it over.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from mcp.server.mcpserver import Context

from unhang.core.spec import NULL, PIPE
from unhang.errors import UsageError
from unhang.faces.mcp.arguments import CommandCall
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.disconnect import gone_of
from unhang.faces.mcp.notifications import Notifications
from unhang.faces.mcp.result import result_of
from unhang.jobs.attend import AttendedJob, CallerGone
from unhang.jobs.connection import Connection

# A background job is waited for at least so long, for the lines that say whether it came up.
_LEAST_OUTPUT_WAIT = 0.5


async def begin(backend: Backend, ctx: Context, call: CommandCall, *, hold: bool) -> tuple[AttendedJob, bool]:
    """Start the job of a call. Also returns whether the policy knows its command as one that never ends."""
    typed = call.interactive or call.pty
    prepared = await backend.in_thread(
        backend.prepare,
        call.command,
        cwd=call.cwd,
        env=call.env,
        stdin=PIPE if typed else NULL,
        pty=call.pty,
        asked=call.limits,
        labels=labels_of(ctx),
    )
    connection = await backend.in_thread(backend.pool.launch, prepared, None if typed else call.stdin, hold=hold)
    attended = attend(backend, ctx, connection)
    if typed and call.stdin:
        try:
            await backend.in_thread(attended.job.send, call.stdin)
        except BaseException:  # the call was cancelled, or the job refused its input
            await _end(attended, "its caller")
            raise
    return attended, prepared.resolution.never_ending


def attend(backend: Backend, ctx: Context, connection: Connection) -> AttendedJob:
    """Listen to a job that was started for this call, and report to the call's client."""
    return AttendedJob(
        backend.pool,
        connection,
        listener=Notifications(ctx),
        times=backend.report_times,
        in_thread=backend.in_thread,
        in_loose_thread=backend.in_loose_thread,
    )


def labels_of(ctx: Context) -> dict[str, str]:
    """The labels of a job that names the client by which it was started."""
    client = ctx.session.client_params
    return {"client": client.client_info.name[:60]} if client is not None and client.client_info.name else {}


async def answer(
    backend: Backend, ctx: Context, attended: AttendedJob, seconds: float, *, background: bool
) -> dict[str, Any]:
    """Wait for the job and return its result, or where it stands. `background`: its first lines are enough."""
    try:
        if background:
            attended.release()
            ended = await attended.first_output(min(backend.settings.first_output, max(seconds, _LEAST_OUTPUT_WAIT)))
        else:
            ended = await attended.wait(seconds, gone_of(ctx.request_context.request))
    except CallerGone:
        await _end(attended, "its client, who is gone")
        raise UsageError("the client is gone") from None
    except asyncio.CancelledError:
        if not background:
            await _end(attended, "cancellation of its call")
        raise
    if ended:
        attended.finish()
    else:
        attended.hand_over()
    shown = await backend.in_thread(result_of, attended.job, backend.settings)
    if shown["status"] == "running":
        backend.handed_over.follow(ctx.session, attended.job, shown["seq"])
        shown["background"] = background
        shown["diagnosis"] = attended.diagnosis or shown["diagnosis"]
        if background:
            shown["message"] = "started; " + shown["message"]
    return shown


async def _end(attended: AttendedJob, by: str) -> None:
    """End the job although the call is cancelled."""
    with anyio.CancelScope(shield=True):
        await attended.end(by)
