"""`run` and `start`: a command becomes a job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from unhang.faces.mcp.arguments import (
    Argv,
    Category,
    Command,
    Cwd,
    Env,
    HardMs,
    IdleMs,
    Interactive,
    Pty,
    Stdin,
    TimeoutSec,
    WaitSec,
    command_call,
    seconds_to_wait,
)
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall, ToolResult
from unhang.faces.mcp.job_call import answer, begin
from unhang.faces.mcp.output_schemas import JobResult
from unhang.faces.mcp.settings import MYSHELL
from unhang.faces.mcp.tool_results import job_tool_result, with_readable_errors
from unhang.faces.mcp.toolbox import RUNS, Toolbox
from unhang.jobs.attend import AttendedJob

RUN = """Run a command and return its output and exit code. It cannot hang: it is watched, explained and ended whole.

It answers when the command has ended, when there is something to decide (it asks for input, listens as a server, is
stuck, or is about to reach a limit), or after wait_sec (45s unless said otherwise). A command that still runs has
status "running" and a jobId: do what the answer's Next says. One that never ends (a server, `tail -f`) is left in the
background at once. Limits follow from the command; set timeout_sec, idleTimeoutMs or hardTimeoutMs only to override
them. An editor without a terminal is refused."""

START = """Start a command in the background and return its jobId at once: servers, watchers, long builds.

It outlives this session, may be silent as long as it likes, and is still watched; the answer names the address that it
listens on. Follow it with `wait`, `events`, `output`; answer it with `send`; end it with `cancel`."""


_COMMAND = tuple(inspect.signature(command_call).parameters)


def register(tools: Toolbox, backend: Backend) -> None:
    """Offer the tools of this file."""

    @with_readable_errors
    async def run(
        ctx: McpCall,
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
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        call = command_call(
            *(command, argv, cwd, env, timeout_sec, idleTimeoutMs, hardTimeoutMs, category, stdin, interactive, pty)
        )
        seconds = seconds_to_wait(backend.settings, wait_sec)
        with backend.call():
            begun = await begin(backend, ctx, call, tool="run")
            background = begun.never_ending and not call.bounded
            return job_tool_result(await answer(backend, ctx, begun, seconds, background=background))

    @with_readable_errors
    async def start(
        ctx: McpCall,
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
    ) -> Annotated[ToolResult, JobResult]:
        call = command_call(
            *(command, argv, cwd, env, timeout_sec, idleTimeoutMs, hardTimeoutMs, category, stdin, interactive, pty)
        )
        with backend.call():
            begun = await begin(backend, ctx, call, tool="start")
            return job_tool_result(await answer(backend, ctx, begun, 0.0, background=True, tool="start"))

    if backend.settings.aliases != MYSHELL:  # which has a tool of this name
        tools.add(run, title="Run a command", description=RUN, annotations=RUNS)
    tools.add(start, title="Start a background job", description=START, annotations=RUNS)


def as_task(tools: Toolbox, backend: Backend) -> Callable[[McpCall, dict[str, Any]], Coroutine[Any, Any, AttendedJob]]:
    """Make `run` for a client that speaks tasks: the same arguments, begun and not waited for."""

    async def begin_run(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        tool = tools.get("run")
        assert tool is not None
        given = tool.arguments(arguments)
        defaults = tool.defaults
        call = command_call(**{name: given.get(name, defaults[name]) for name in _COMMAND})
        return (await begin(backend, ctx, call, tool="run")).attended

    return begin_run
