"""Tools of two other servers under their own names, with their arguments and the shape of their answers.

For clients and instructions that were written for those: the command behind the name changes, and nothing else. They
expect a call to last until the end, so these calls do (for an hour at most), whatever there would be to decide before.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

from unhang.agents.codex import job as codex_job
from unhang.agents.codex.plan import DENY, EXEC, RUN
from unhang.core import values
from unhang.errors import SpawnError
from unhang.faces.mcp.arguments import Command, Cwd, Env, TimeoutSec, command_call
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall, ToolResult
from unhang.faces.mcp.job_call import answer, begin
from unhang.faces.mcp.output_schemas import DelegatedResult, TerminalResponse
from unhang.faces.mcp.result import NO_EXIT_CODE
from unhang.faces.mcp.settings import DELEGATOR, MYSHELL
from unhang.faces.mcp.tool_results import tool_result, with_readable_errors
from unhang.faces.mcp.toolbox import RUNS, Toolbox
from unhang.faces.mcp.tools.codex import HardMs, IdleMs, Mode, Model, Task, Thread, asked_of, plan_of, turn

MYSHELL_RUN = """Run a shell command to its end. It cannot hang: limits follow from the policy, or from timeout_sec.

status is success, timeout or error; timeoutReason and terminationMode say how a timeout came. A command that never ends
(a server) is left in the background: status "running"."""
LOCAL_RUN = "Give Codex a task and wait for its end. It cannot hang: the turn is watched, explained and ended whole."
LOCAL_EXEC = f"As _codex_local_run, over `codex exec`. {LOCAL_RUN}"
LOCAL_RESUME = "Go on with a Codex thread: a new task with everything that was said before. As _codex_local_run."


def register(tools: Toolbox, backend: Backend) -> None:
    """Offer the tools of the server that the settings name."""
    if backend.settings.aliases == MYSHELL:
        _register_myshell(tools, backend)
    elif backend.settings.aliases == DELEGATOR:
        _register_delegator(tools, backend)


def _register_myshell(tools: Toolbox, backend: Backend) -> None:
    @with_readable_errors
    async def run(
        ctx: McpCall, command: Command, timeout_sec: TimeoutSec = None, cwd: Cwd = "", env: Env = None
    ) -> Annotated[ToolResult, TerminalResponse]:
        call = command_call(command, None, cwd, env, timeout_sec, None, None, "", "", interactive=False, pty=False)
        with backend.call():
            begun = await begin(backend, ctx, call, tool="run")
            stays = begun.never_ending and not call.bounded
            longest = backend.settings.longest_wait
            return _as_json(_terminal(await answer(backend, ctx, begun, longest, background=stays, decides=False)))

    tools.add(run, title="Run a command", description=MYSHELL_RUN, annotations=RUNS)


def _terminal(shown: dict[str, Any]) -> dict[str, Any]:
    names = ("status", "stdout", "stderr", "exitCode", "timeoutReason", "terminationMode", "durationMs")
    found = {name: shown[name] for name in names}
    found |= {"exitCode": NO_EXIT_CODE if shown["exitCode"] is None else shown["exitCode"]}
    found |= {"durationMs": shown["durationMs"] or 0}
    if shown["status"] == "cancelled":
        found["status"] = "error"
    return found | {name: shown[name] for name in ("jobId", "message", "diagnosis", "recovery")}


def _register_delegator(tools: Toolbox, backend: Backend) -> None:
    try:
        program = codex_job.PROGRAM.find()
    except SpawnError:
        return

    async def delegate(
        ctx: McpCall, verb: str, task: str, thread: str | None, mode: str, model: str, cwd: str, limits: tuple[Any, Any]
    ) -> ToolResult:
        plan = replace(plan_of(program, verb, task, mode, model, "", DENY), thread=thread)
        longest = backend.settings.longest_wait
        shown = await turn(backend, ctx, plan, cwd, asked_of(*limits), longest, decides=False)
        return _as_json(_delegated(shown))

    def local(verb: str) -> Callable[..., Awaitable[ToolResult]]:
        @with_readable_errors
        async def begun_anew(
            ctx: McpCall,
            task: Task,
            mode: Mode = "",
            model: Model = "",
            cwd: Cwd = "",
            idleTimeoutMs: IdleMs = None,  # noqa: N803 - its own names
            hardTimeoutMs: HardMs = None,  # noqa: N803
        ) -> Annotated[ToolResult, DelegatedResult]:
            return await delegate(ctx, verb, task, None, mode, model, cwd, (idleTimeoutMs, hardTimeoutMs))

        return begun_anew

    @with_readable_errors
    async def local_resume(
        ctx: McpCall,
        threadId: Thread,  # noqa: N803
        task: Task,
        mode: Mode = "",
        model: Model = "",
        cwd: Cwd = "",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
    ) -> Annotated[ToolResult, DelegatedResult]:
        return await delegate(ctx, RUN, task, threadId, mode, model, cwd, (idleTimeoutMs, hardTimeoutMs))

    for tool, name, title, text in (
        (local(RUN), "_codex_local_run", "Give Codex a task", LOCAL_RUN),
        (local(EXEC), "_codex_local_exec", "Give Codex a task over exec", LOCAL_EXEC),
        (local_resume, "_codex_local_resume", "Go on with a Codex thread", LOCAL_RESUME),
    ):
        tools.add(tool, name=name, title=title, description=text, annotations=RUNS)


def _delegated(shown: dict[str, Any]) -> dict[str, Any]:
    about = shown.get("codex") or {}
    found: dict[str, Any] = {"success": shown["status"] == "success", "status": shown["status"]}
    found |= {"jobId": shown["jobId"], "threadId": about.get("threadId"), "message": shown["message"]}
    if found["success"]:
        return found | {"output": about.get("reply"), "usage": about.get("usage")}
    return found | {name: shown[name] for name in ("error", "partial", "recovery", "diagnosis")}


def _as_json(found: dict[str, Any]) -> ToolResult:
    """Return an answer whose text is the object itself, as those servers answer."""
    shown = values.for_json(found)
    failed = found["status"] not in ("success", "running")
    return tool_result(shown, json.dumps(shown, ensure_ascii=False), is_error=failed)
