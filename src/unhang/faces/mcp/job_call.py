"""A tool call that starts a job: it begins, waits as long as the call may take, and answers with the result.

A call that is cancelled, or whose client is gone, ends its job. A call whose time is over hands it over.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any, NamedTuple

from unhang.core.editors import EDITOR_STARTERS, EDITORS, way_without
from unhang.core.outcome import CALLER_DIED
from unhang.core.policy.builtin import command_name
from unhang.core.policy.model import Resolution
from unhang.core.spec import NULL, PIPE
from unhang.core.view import View
from unhang.errors import UnhangError, UsageError
from unhang.faces.mcp.arguments import CommandCall
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.notifications import Notifications
from unhang.faces.mcp.result import Seen, result_of
from unhang.faces.mcp.trace_meta import in_trace_of
from unhang.jobs.async_wait import wait_until
from unhang.jobs.attend import AttendedJob, CallerGone
from unhang.jobs.connection import JobConnection
from unhang.jobs.handle import Job
from unhang.jobs.progress import SilentListener
from unhang.jobs.request import Prepared

# A background job is waited for at least so long, for the lines that say whether it came up.
_LEAST_OUTPUT_WAIT = 1.0
# What is left of the time to wait after a slow start, at least: enough for a short command to end.
_LEAST_WAIT = 1.0
# A job that has printed no more than this, and is no agent's, is shown without a thread.
_AT_HAND = 1 << 16


class Begun(NamedTuple):
    """A job that was started for a call."""

    attended: AttendedJob
    never_ending: bool  # the policy knows its command as one that never ends
    session: bool  # ... and as one for a person: it is not to outlive this server
    waited: float = 0.0  # seconds of the call that its start has taken


async def begin(backend: Backend, ctx: McpCall, call: CommandCall, *, tool: str) -> Begun:
    """Start the job of a call to `run` or `start`. Raises UsageError for an editor without a terminal."""
    called = time.monotonic()
    # all of it in one thread: to change threads is much of what a short call costs
    connection, resolution = await backend.in_thread(_launch, backend, ctx, call, tool)
    attended = await attend(backend, ctx, connection)
    if call.typed and call.stdin:
        try:
            await backend.in_thread(attended.job.send, call.stdin)
        except BaseException:  # the call was cancelled, or the job refused its input
            await _end(backend, attended, "its caller")
            raise
    return Begun(attended, resolution.never_ending, _is_session(resolution), time.monotonic() - called)


def _launch(backend: Backend, ctx: McpCall, call: CommandCall, tool: str) -> tuple[JobConnection, Resolution]:
    labels = labels_of(ctx) | {"tool": tool}
    prepared = _prepare(backend, call, labels)
    better = call.with_room(prepared.resolution, stays=tool == "start")
    if better is not call:
        prepared = _prepare(backend, better, labels)
    resolution = prepared.resolution
    if not call.pty:
        _refuse_editors(resolution)
    prepared = in_trace_of(ctx, prepared, call.env)
    hold = tool == "run" or _is_session(resolution)
    return backend.pool.launch(prepared, None if call.typed else call.stdin, hold=hold), resolution


def _is_session(resolution: Resolution) -> bool:
    return resolution.category == "session"


def _prepare(backend: Backend, call: CommandCall, labels: dict[str, str]) -> Prepared:
    stdin = PIPE if call.typed else NULL
    return backend.prepare(
        call.command, cwd=call.cwd, env=call.env, stdin=stdin, pty=call.pty, asked=call.limits, labels=labels
    )


def _refuse_editors(resolution: Resolution) -> None:
    for piece in resolution.pieces:
        name = command_name(piece.text.split(maxsplit=1)[0]) if piece.text.split() else ""
        if name in EDITORS | EDITOR_STARTERS and piece.never_ending:
            what = "is an editor" if name in EDITORS else "opens an editor"
            raise UsageError(
                f"{name} {what} and would wait for keys for ever: {way_without(piece.text)}. "
                "To use it all the same, pass pty=true and type with send"
            )


async def attend(backend: Backend, ctx: McpCall, connection: JobConnection) -> AttendedJob:
    """Listen to a job that was given to a keeper for this call, and report to the call's client. Return when it runs.

    A call that is cancelled meanwhile learns so at its next step: the job is known then, and can be ended.
    """
    attended = AttendedJob(
        backend.pool,
        connection,
        listener=Notifications(ctx),
        times=backend.report_times,
        in_thread=backend.in_thread,
        in_loose_thread=backend.in_loose_thread,
    )
    await backend.threads.shielded(attended.wait_until_started())
    return attended


def labels_of(ctx: McpCall) -> dict[str, str]:
    """Return the labels of a job that names the client by which it was started."""
    return {"client": ctx.client_name[:60]} if ctx.client_name else {}


async def answer(
    backend: Backend,
    ctx: McpCall,
    begun: Begun,
    seconds: float,
    *,
    background: bool,
    tool: str = "run",
    decides: bool = True,
) -> dict[str, Any]:
    """Wait for the job and return its result, or where it stands. `background`: its first lines are enough.

    `seconds` count from the call: what the start has taken is gone of the client's patience. `decides` False: the
    caller wants the end, and nothing that it might decide before.
    """
    attended = begun.attended
    seconds = max(seconds - begun.waited, min(seconds, _LEAST_WAIT))
    try:
        if background:
            if tool == "start" and not begun.session:
                await attended.release()
            ended = await attended.first_output(min(backend.settings.first_output, max(seconds, _LEAST_OUTPUT_WAIT)))
        else:
            ended = await attended.wait(seconds, ctx.gone, decides=decides)
    except CallerGone:
        await _end(backend, attended, CALLER_DIED)
        raise UsageError("the client is gone") from None
    except asyncio.CancelledError:
        if tool == "run":  # its caller will never learn the id
            gone = ctx.gone is not None and ctx.gone.is_set()
            await _end(backend, attended, CALLER_DIED if gone else "cancellation of its call")
        raise
    if not ended and attended.editors:
        await end_editor(backend, attended.job)
        ended = True
    if ended:
        attended.finish()
    else:
        await attended.hand_over(held=begun.session)
    seen = Seen(background, begun.never_ending, attended.serves, attended.editors, attended.diagnosis)
    view = attended.view if attended.view.ended else None  # it has all events: they need not be read again
    if view is not None and _is_at_hand(view):
        # what it reads was written a moment ago and is in memory: to change threads would take longer
        shown = result_of(attended.job, backend.settings, seen, view)
    else:
        shown = await backend.in_thread(result_of, attended.job, backend.settings, seen, view)
    if shown["status"] == "running":
        backend.handed_over.follow(ctx.client, attended.job, shown["seq"])
    return shown


def _is_at_hand(view: View) -> bool:
    """Whether a result is made of a few pages, and noted nowhere."""
    return view.status == "success" and not view.last_of_agent and sum(view.bytes.values()) <= _AT_HAND


async def end_editor(backend: Backend, job: Job) -> None:
    """End a job that has opened an editor where there is no terminal: nothing else will."""
    with contextlib.suppress(UnhangError, OSError):  # it has ended meanwhile, or its limits end it
        await backend.in_thread(job.cancel, wait=False, by="unhang, an editor needs a terminal")
    await wait_for_end(backend, job)


async def wait_for_end(backend: Backend, job: Job) -> None:
    """Wait until a job that is being ended has ended: a grace and SIGKILL, so it takes no longer than a call may."""
    await wait_until(
        [job],
        bool,
        backend.settings.wait,
        in_thread=backend.in_thread,
        listener=SilentListener(),
        times=backend.report_times,
    )


async def _end(backend: Backend, attended: AttendedJob, by: str) -> None:
    """End the job although the call is cancelled."""
    await backend.threads.shielded(attended.end(by))
