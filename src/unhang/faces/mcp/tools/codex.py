"""`codex_run`, `codex_resume`, `codex_compact`: a task for Codex as a job, where Codex is installed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from unhang.agents.base.job import JobOptions
from unhang.agents.codex import job as codex_job
from unhang.agents.codex.plan import COMPACT, RUN, CodexPlan
from unhang.core.limit_request import LimitRequest, read_limits
from unhang.errors import SpawnError
from unhang.faces.mcp.access.check import check_access
from unhang.faces.mcp.arguments import WaitSec, folder_of, seconds_to_wait
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.job_call import Begun, answer, attend, labels_of
from unhang.faces.mcp.output_schemas import JobResult
from unhang.faces.mcp.tool_results import job_tool_result, with_readable_errors
from unhang.jobs.connection import Connection

CODEX_RUN = """Give Codex a task. It cannot hang: the turn is watched, explained and ended whole.

It answers within wait_sec (45 s unless said otherwise); a longer turn comes back with status "running" and a jobId:
call `wait`, or follow it with `events`. `codex` in the result has threadId, reply, tokens and what was refused.
After a timeout it is tried once more with longer limits where that may help. A full context: `codex_compact`."""

CODEX_RESUME = """Go on with a Codex thread: a new task with everything that was said before. Otherwise as codex_run."""

CODEX_COMPACT = """Compact a Codex thread and wait for its real end; tokensBefore and tokensAfter say what it brought.

An error means that nothing was compacted, in Codex's own words."""

Task = Annotated[str, Field(description="What Codex shall do.", min_length=1)]
Thread = Annotated[str, Field(description="The threadId of an earlier result.", min_length=1)]
Mode = Annotated[
    Literal["", "read-only", "workspace-write", "danger-full-access"],
    Field(description="What Codex may do; as it is configured unless given. Limits follow from it."),
]
Model = Annotated[str, Field(description="The model; as configured unless given.")]
Effort = Annotated[str, Field(description="The reasoning effort: low, medium, high.")]
Cwd = Annotated[str, Field(description="Directory to work in; the server's own unless given.")]
IdleMs = Annotated[
    int | None,
    Field(description="End it after this long without a sign of life, in ms: 60000 to 1800000, default 300000.", gt=0),
]
HardMs = Annotated[
    int | None,
    Field(description="End it after this long whatever it does, in ms: 300000 to 3600000, default 1200000.", gt=0),
]
Approvals = Annotated[
    Literal["deny", "accept"], Field(description="The answer when Codex asks for more than its mode allows.")
]


def register(server: MCPServer[Any], backend: Backend) -> None:
    """Nothing is offered where there is no Codex."""
    try:
        program = codex_job.PROGRAM.find()
    except SpawnError:
        return
    annotations = ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    )

    @with_readable_errors
    async def codex_run(
        ctx: Context,
        task: Task,
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        approvals: Approvals = "deny",
        idleTimeoutMs: IdleMs = None,  # noqa: N803 - the names that delegating servers have always used
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[CallToolResult, JobResult]:
        plan = CodexPlan(
            verb=RUN,
            task=task,
            codex=program,
            model=model or None,
            effort=effort or None,
            sandbox=mode or None,
            approvals=approvals,
        )
        return await _turn(backend, ctx, plan, cwd, _asked(idleTimeoutMs, hardTimeoutMs), wait_sec)

    @with_readable_errors
    async def codex_resume(
        ctx: Context,
        threadId: Thread,  # noqa: N803
        task: Task,
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        approvals: Approvals = "deny",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[CallToolResult, JobResult]:
        plan = CodexPlan(
            verb=RUN,
            task=task,
            codex=program,
            thread=threadId,
            model=model or None,
            effort=effort or None,
            sandbox=mode or None,
            approvals=approvals,
        )
        return await _turn(backend, ctx, plan, cwd, _asked(idleTimeoutMs, hardTimeoutMs), wait_sec)

    @with_readable_errors
    async def codex_compact(
        ctx: Context,
        threadId: Thread,  # noqa: N803
        cwd: Cwd = "",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[CallToolResult, JobResult]:
        plan = CodexPlan(verb=COMPACT, codex=program, thread=threadId)
        return await _turn(backend, ctx, plan, cwd, _asked(idleTimeoutMs, hardTimeoutMs), wait_sec)

    server.add_tool(codex_run, title="Give Codex a task", description=CODEX_RUN, annotations=annotations)
    server.add_tool(codex_resume, title="Go on with a Codex thread", description=CODEX_RESUME, annotations=annotations)
    server.add_tool(codex_compact, title="Compact a Codex thread", description=CODEX_COMPACT, annotations=annotations)


def _asked(idle: int | None, hard: int | None) -> LimitRequest:
    return read_limits({"idleTimeoutMs": idle, "hardTimeoutMs": hard})


async def _turn(
    backend: Backend, ctx: Context, plan: CodexPlan, cwd: str, asked: LimitRequest, wait_sec: float | None
) -> CallToolResult:
    seconds = seconds_to_wait(backend.settings, wait_sec)
    with backend.call():
        connection = await backend.in_thread(_launch, backend, plan, cwd, asked, labels_of(ctx))
        begun = Begun(attend(backend, ctx, connection), never_ending=False, session=False)
        return job_tool_result(await answer(backend, ctx, begun, seconds, background=False))


def _launch(backend: Backend, plan: CodexPlan, cwd: str, asked: LimitRequest, labels: dict[str, str]) -> Connection:
    folder = folder_of(cwd)
    check_access(backend.settings, [plan.codex], folder)
    prepared = codex_job.prepare(
        plan,
        asked,
        JobOptions(
            cwd=folder,
            policy=backend.settings.policy,
            bounded=True,
            retry=1 if plan.verb == RUN else 0,
            labels={"via": "mcp"} | labels,
        ),
    )
    return backend.pool.launch(prepared, None, hold=True)
