"""`run` and `start`: a command becomes a job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field, ValidationError

from unhang.core.limit_request import LimitRequest, read_limits
from unhang.core.spec import NULL, PIPE
from unhang.errors import UsageError
from unhang.faces.mcp import result
from unhang.faces.mcp.arguments import patience_of
from unhang.faces.mcp.attend import AttendedJob, ClientGone
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.disconnect import gone_of
from unhang.faces.mcp.notifications import Notifications
from unhang.faces.mcp.output_schemas import JobResult
from unhang.faces.mcp.tool_results import job_tool_result, with_readable_errors
from unhang.jobs.handle import Job

RUN = """Run a command and return its output and exit code. It cannot hang: it is watched, explained and ended whole.

It answers within wait_sec (45 s unless said otherwise). If the command needs longer, the answer has status "running"
and a jobId: call `wait`. A command that never ends (a server, `tail -f`) is started in the background at once. Limits
follow from the command; set timeout_sec, idleTimeoutMs or hardTimeoutMs only to override them. On a timeout the result
says why (diagnosis), what was printed so far (partial) and what to do (recovery)."""

START = """Start a command in the background and return its jobId at once: servers, watchers, long builds.

It outlives this session and is still watched. Follow it with `wait`, `events`, `output`; answer it with `send`; end it
with `cancel`."""

# The kernel's own bound on one word (MAX_ARG_STRLEN); said here it is a sentence and not a failed job.
LONGEST_WORD = (128 << 10) - 1

# Texts are plain `str` with "" for "not given": of anything else the SDK would read a text that is JSON (say, stdin)
# as the value it stands for.
Command = Annotated[str, Field(description="A shell line, as for sh -c. Give this or argv.")]
Argv = Annotated[list[str] | None, Field(description="The words of a command, run without a shell.")]
Cwd = Annotated[str, Field(description="Directory to run in; the server's own unless given.")]
Env = Annotated[dict[str, str] | None, Field(description="Variables added to the environment.")]
TimeoutSec = Annotated[
    float | None,
    Field(description="Longest run time in seconds; silence may last a quarter of it (at most 60 s).", gt=0),
]
IdleMs = Annotated[int | None, Field(description="End it after this long without a sign of life, in ms.", ge=0)]
HardMs = Annotated[int | None, Field(description="End it after this long whatever it does, in ms.", ge=0)]
Category = Annotated[str, Field(description="A policy category to take the limits from (see explain_policy).")]
Stdin = Annotated[str, Field(description="Text for its stdin, then end of file. Without it: end of file.")]
Interactive = Annotated[bool, Field(description="Keep its stdin open so that `send` can answer prompts.")]
Pty = Annotated[bool, Field(description="Give it a terminal of its own.")]


def register(server: MCPServer[Any], backend: Backend) -> None:
    open_world = ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    )

    @with_readable_errors
    async def run(
        ctx: Context,
        command: Command = "",
        argv: Argv = None,
        cwd: Cwd = "",
        env: Env = None,
        timeout_sec: TimeoutSec = None,
        idleTimeoutMs: IdleMs = None,  # noqa: N803 - the names that delegating servers have always used
        hardTimeoutMs: HardMs = None,  # noqa: N803
        category: Category = "",
        stdin: Stdin = "",
        interactive: Interactive = False,
        pty: Pty = False,
        wait_sec: Annotated[
            float | None, Field(description="Answer after this many seconds at the latest; default 45.", ge=0)
        ] = None,
    ) -> Annotated[CallToolResult, JobResult]:
        line = command_of(command, argv)
        limits = read_limits(
            {
                "idleTimeoutMs": idleTimeoutMs,
                "hardTimeoutMs": hardTimeoutMs,
                "category": category,
                "timeout_sec": timeout_sec,
            }
        )
        seconds = patience_of(backend.settings, wait_sec)
        with backend.call():
            attended, endless = await _begin(backend, ctx, line, cwd, env, limits, stdin, interactive, pty, hold=True)
            bounded = timeout_sec is not None or hardTimeoutMs is not None or idleTimeoutMs is not None
            return job_tool_result(await _attend(attended, ctx, seconds, background=endless and not bounded))

    @with_readable_errors
    async def start(
        ctx: Context,
        command: Command = "",
        argv: Argv = None,
        cwd: Cwd = "",
        env: Env = None,
        timeout_sec: TimeoutSec = None,
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        category: Category = "",
        stdin: Stdin = "",
        interactive: Interactive = False,
        pty: Pty = False,
    ) -> Annotated[CallToolResult, JobResult]:
        line = command_of(command, argv)
        limits = read_limits(
            {
                "idleTimeoutMs": idleTimeoutMs,
                "hardTimeoutMs": hardTimeoutMs,
                "category": category,
                "timeout_sec": timeout_sec,
            }
        )
        with backend.call():
            attended, _ = await _begin(backend, ctx, line, cwd, env, limits, stdin, interactive, pty, hold=False)
            return job_tool_result(await _attend(attended, ctx, 0.0, background=True))

    server.add_tool(run, title="Run a command", description=RUN, annotations=open_world)
    server.add_tool(start, title="Start a background job", description=START, annotations=open_world)


def as_task(
    server: MCPServer[Any], backend: Backend
) -> Callable[[Context, dict[str, Any]], Coroutine[Any, Any, AttendedJob]]:
    """`run` for a client that speaks tasks: the same arguments, begun and not waited for."""

    async def begin(ctx: Context, arguments: dict[str, Any]) -> AttendedJob:
        tool = server._tool_manager.get_tool("run")
        assert tool is not None
        try:
            given = tool.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise UsageError(f"run: {error}") from None
        limits = read_limits(
            {name: given[name] for name in ("idleTimeoutMs", "hardTimeoutMs", "category", "timeout_sec")}
        )
        line = command_of(given["command"], given["argv"])
        names = ("cwd", "env", "stdin", "interactive", "pty")
        attended, _ = await _begin(
            backend, ctx, line, limits=limits, hold=True, **{name: given[name] for name in names}
        )
        return attended

    return begin


def command_of(command: str, argv: list[str] | None) -> str | list[str]:
    if bool(command) == (argv is not None):
        raise UsageError("give either command (a shell line) or argv (a list of words)")
    if any(len(word) > LONGEST_WORD for word in argv or [command]):
        raise UsageError("one word of a command may have 128 KiB: put it into a file, or give it as stdin")
    return command if argv is None else argv


async def _begin(
    backend: Backend,
    ctx: Context,
    line: str | list[str],
    cwd: str,
    env: dict[str, str] | None,
    limits: LimitRequest,
    stdin: str,
    interactive: bool,
    pty: bool,
    *,
    hold: bool,
) -> tuple[AttendedJob, bool]:
    """The job, started; and whether the policy knows it as one that never ends."""
    typed = interactive or pty
    prepared = await backend.in_thread(
        backend.prepare,
        line,
        cwd=cwd,
        env=env,
        stdin=PIPE if typed else NULL,
        pty=pty,
        asked=limits,
        labels=_labels(ctx),
    )
    data = stdin.encode("utf-8", "surrogatepass") if stdin else None
    connection = await backend.in_thread(backend.launch, prepared, None if typed else data, hold=hold)
    attended = AttendedJob(backend, connection, Notifications(ctx))
    if typed and data:
        try:
            await backend.in_thread(Job(connection.place).send, data)
        except BaseException:  # cancelled, or refused: nobody waits for it any more
            await attended.end("its caller")
            raise
    return attended, prepared.resolution.never_ending


def _labels(ctx: Context) -> dict[str, str]:
    who = ctx.session.client_params
    return {"client": who.client_info.name[:60]} if who is not None and who.client_info.name else {}


async def _attend(attended: AttendedJob, ctx: Context, seconds: float, *, background: bool) -> dict[str, Any]:
    backend, job = attended.backend, attended.job
    try:
        if background:
            attended.hand_over_later()
            ended = await attended.first_output(min(backend.settings.first_output, max(seconds, 0.5)))
        else:
            ended = await attended.wait(seconds, gone_of(ctx.request_context.request))
    except ClientGone:
        await attended.end("its client, who is gone")
        raise UsageError("the client is gone") from None
    except asyncio.CancelledError:
        if not background:
            await attended.end("cancellation of its call")
        raise
    if ended:
        attended.finish()
    else:
        attended.hand_over()
    shown = await backend.in_thread(result.result_of, job, backend.settings)
    if shown["status"] == "running":
        shown["background"] = background
        shown["diagnosis"] = attended.diagnosis or shown["diagnosis"]
        if background:
            shown["message"] = "started; " + shown["message"]
    return shown
