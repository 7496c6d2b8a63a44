"""A task for Codex as a job, where Codex is installed: run, resume, exec, review, compact, recover, and its cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from unhang.agents.base.job import JobOptions
from unhang.agents.codex import job as codex_job
from unhang.agents.codex.plan import COMPACT, DENY, EXEC, REVIEW, RUN, CodexPlan
from unhang.core.limit_request import LimitRequest, read_limits
from unhang.errors import SpawnError, UsageError
from unhang.faces.mcp.access.check import check_access
from unhang.faces.mcp.arguments import WaitSec, folder_of, seconds_to_wait
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall, ToolResult
from unhang.faces.mcp.job_call import Begun, answer, attend, labels_of
from unhang.faces.mcp.output_schemas import JobResult
from unhang.faces.mcp.schema import Arg
from unhang.faces.mcp.tool_results import job_tool_result, with_readable_errors
from unhang.faces.mcp.toolbox import RUNS, Toolbox
from unhang.faces.mcp.trace_meta import in_trace_of
from unhang.jobs.connection import JobConnection
from unhang.jobs.handle import Job

CODEX_RUN = """Give Codex a task. It cannot hang: the turn is watched, explained and ended whole.

It answers within wait_sec (45s unless said otherwise); a longer turn comes back with status "running" and a jobId:
call `wait`, or follow it with `events`. `codex` in the result has threadId, reply, tokens and what was refused.
After a timeout it goes on in the same thread (`retry`), with a longer idle limit, where that may help; hardTimeoutMs
bounds all attempts together. A full context: `codex_compact`."""

CODEX_RESUME = """Go on with a Codex thread: a new task with everything that was said before. Otherwise as codex_run."""

CODEX_EXEC = (
    """Give Codex a task over `codex exec`: for a Codex whose app server does not work. Otherwise as codex_run."""
)

CODEX_REVIEW = """Let Codex review changes: of the working tree, against a branch, of a commit, or by instructions.

Otherwise as codex_run."""

CODEX_RECOVER = (
    """Free a stuck Codex job and go on: cancel it, compact its thread, give the next task. Otherwise as codex_run."""
)

CODEX_CLOUD = """Call `codex cloud` with these words (`exec`, `status`, `list`, `diff`, …): its tasks run elsewhere.

It answers within wait_sec like `run`; the output is in `stdout`."""

CODEX_COMPACT = """Compact a Codex thread and wait for its real end; tokensBefore and tokensAfter say what it brought.

An error means that nothing was compacted, in Codex's own words."""

Task = Annotated[str, Arg(description="What Codex shall do.", min_length=1)]
Thread = Annotated[str, Arg(description="The threadId of an earlier result.", min_length=1)]
Mode = Annotated[
    Literal["", "read-only", "workspace-write", "danger-full-access"],
    Arg(description="What Codex may do; as it is configured unless given. Limits follow from it."),
]
Model = Annotated[str, Arg(description="The model; as configured unless given.")]
Effort = Annotated[str, Arg(description="The reasoning effort: low, medium, high.")]
Cwd = Annotated[str, Arg(description="Directory to work in; the server's own unless given.")]
IdleMs = Annotated[
    int | None,
    Arg(description="End it after this long without a sign of life, in ms: 60000 to 1800000, default 300000.", gt=0),
]
HardMs = Annotated[
    int | None,
    Arg(description="End it after this long whatever it does, in ms: 300000 to 3600000, default 1200000.", gt=0),
]
Retry = Annotated[
    int,
    Arg(description="After a timeout: go on in the same thread this many times, within the hard limit.", ge=0, le=3),
]
JobToRecover = Annotated[str, Arg(description="The jobId of the Codex job that hangs or has failed.", min_length=1)]
Base = Annotated[str, Arg(description="Review the changes against this branch.")]
Commit = Annotated[str, Arg(description="Review the changes of this commit.")]
Instructions = Annotated[str, Arg(description="Review by these instructions instead.")]
Words = Annotated[list[str], Arg(description='The words after `codex cloud`, such as ["status", "ID"].', min_length=1)]
Approvals = Annotated[
    Literal["deny", "accept"], Arg(description="The answer when Codex asks for more than its mode allows.")
]


def register(tools: Toolbox, backend: Backend) -> None:
    """Offer the tools of this file, and none where there is no Codex."""
    try:
        program = codex_job.PROGRAM.find()
    except SpawnError:
        return

    @with_readable_errors
    async def codex_run(
        ctx: McpCall,
        task: Task,
        *,
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        approvals: Approvals = "deny",
        idleTimeoutMs: IdleMs = None,  # noqa: N803 - the names that delegating servers have always used
        hardTimeoutMs: HardMs = None,  # noqa: N803
        retry: Retry = 1,
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        plan = plan_of(program, RUN, task, mode, model, effort, approvals)
        return await _turn(backend, ctx, plan, cwd, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec, retry)

    @with_readable_errors
    async def codex_resume(
        ctx: McpCall,
        threadId: Thread,  # noqa: N803
        task: Task,
        *,
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        approvals: Approvals = "deny",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        retry: Retry = 1,
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        plan = replace(plan_of(program, RUN, task, mode, model, effort, approvals), thread=threadId)
        return await _turn(backend, ctx, plan, cwd, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec, retry)

    @with_readable_errors
    async def codex_exec(
        ctx: McpCall,
        task: Task,
        *,
        threadId: Annotated[str, Arg(description="Go on with this thread.")] = "",  # noqa: N803
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        retry: Retry = 1,
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        plan = replace(plan_of(program, EXEC, task, mode, model, effort, DENY), thread=threadId or None)
        return await _turn(backend, ctx, plan, cwd, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec, retry)

    @with_readable_errors
    async def codex_review(
        ctx: McpCall,
        *,
        base: Base = "",
        commit: Commit = "",
        instructions: Instructions = "",
        model: Model = "",
        effort: Effort = "",
        cwd: Cwd = "",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        given = {f"base:{base}": base, f"commit:{commit}": commit, "custom": instructions}
        targets = [target for target, value in given.items() if value] or ["uncommitted"]
        if len(targets) > 1:
            raise UsageError("give one of base, commit and instructions")
        plan = replace(plan_of(program, REVIEW, instructions, "", model, effort, DENY), target=targets[0])
        return await _turn(backend, ctx, plan, cwd, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec)

    @with_readable_errors
    async def codex_recover(
        ctx: McpCall,
        job_id: JobToRecover,
        task: Task,
        *,
        mode: Mode = "",
        model: Model = "",
        effort: Effort = "",
        approvals: Approvals = "deny",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        job = backend.job(job_id)
        thread = await backend.in_thread(_freed_thread, job)
        backend.pool.forget(job)
        plan = plan_of(program, RUN, task, mode, model, effort, approvals)
        plan = replace(plan, thread=thread, compact_first=True)
        folder = str(job.spec.get("cwd") or "")
        return await _turn(backend, ctx, plan, folder, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec)

    @with_readable_errors
    async def codex_cloud(
        ctx: McpCall, words: Words, *, cwd: Cwd = "", wait_sec: WaitSec = None
    ) -> Annotated[ToolResult, JobResult]:
        seconds = seconds_to_wait(backend.settings, wait_sec)
        with backend.call():
            connection = await backend.in_thread(_launch_cloud, backend, ctx, program, words, cwd)
            begun = Begun(await attend(backend, ctx, connection), never_ending=False, session=False)
            return job_tool_result(await answer(backend, ctx, begun, seconds, background=False))

    @with_readable_errors
    async def codex_compact(
        ctx: McpCall,
        threadId: Thread,  # noqa: N803
        cwd: Cwd = "",
        idleTimeoutMs: IdleMs = None,  # noqa: N803
        hardTimeoutMs: HardMs = None,  # noqa: N803
        wait_sec: WaitSec = None,
    ) -> Annotated[ToolResult, JobResult]:
        plan = CodexPlan(verb=COMPACT, codex=program, thread=threadId)
        return await _turn(backend, ctx, plan, cwd, asked_of(idleTimeoutMs, hardTimeoutMs), wait_sec)

    tools.add(codex_run, title="Give Codex a task", description=CODEX_RUN, annotations=RUNS)
    tools.add(codex_resume, title="Go on with a Codex thread", description=CODEX_RESUME, annotations=RUNS)
    tools.add(codex_exec, title="Give Codex a task over exec", description=CODEX_EXEC, annotations=RUNS)
    tools.add(codex_review, title="Let Codex review changes", description=CODEX_REVIEW, annotations=RUNS)
    tools.add(codex_recover, title="Free a stuck Codex", description=CODEX_RECOVER, annotations=RUNS)
    tools.add(codex_cloud, title="Codex in the cloud", description=CODEX_CLOUD, annotations=RUNS)
    tools.add(codex_compact, title="Compact a Codex thread", description=CODEX_COMPACT, annotations=RUNS)


def plan_of(program: str, verb: str, task: str, mode: str, model: str, effort: str, approvals: str) -> CodexPlan:
    """Return a turn of Codex's as these tools are asked for it: what is empty is as Codex is configured."""
    return CodexPlan(
        verb=verb,
        task=task,
        codex=program,
        model=model or None,
        effort=effort or None,
        sandbox=mode or None,
        approvals=approvals,
    )


def _freed_thread(job: Job) -> str:
    """The thread of a job that has ended: an end frees Codex's lock on it."""
    thread = codex_job.thread_of(job)
    if not job.ended():
        job.cancel(by="codex_recover")
    return thread


def asked_of(idle: int | None, hard: int | None) -> LimitRequest:
    """Return the limits that a call asks for, given in milliseconds."""
    return read_limits({"idleTimeoutMs": idle, "hardTimeoutMs": hard})


async def _turn(
    backend: Backend,
    ctx: McpCall,
    plan: CodexPlan,
    cwd: str,
    asked: LimitRequest,
    wait_sec: float | None,
    retry: int = 0,
) -> ToolResult:
    seconds = seconds_to_wait(backend.settings, wait_sec)
    return job_tool_result(await turn(backend, ctx, plan, cwd, asked, seconds, retry))


async def turn(
    backend: Backend,
    ctx: McpCall,
    plan: CodexPlan,
    cwd: str,
    asked: LimitRequest,
    seconds: float,
    retry: int = 0,
    *,
    decides: bool = True,
) -> dict[str, Any]:
    """Have Codex carry out a plan, as a job, and return its result (see `answer`)."""
    with backend.call():
        connection = await backend.in_thread(_launch, backend, ctx, plan, cwd, asked, retry)
        begun = Begun(await attend(backend, ctx, connection), never_ending=False, session=False)
        return await answer(backend, ctx, begun, seconds, background=False, decides=decides)


def _launch_cloud(backend: Backend, ctx: McpCall, program: str, words: list[str], cwd: str) -> JobConnection:
    folder = folder_of(cwd)
    check_access(backend.settings, [program], folder)
    prepared = codex_job.prepare_cloud(program, words, folder, {"via": "mcp"} | labels_of(ctx), foreground=False)
    return backend.pool.launch(in_trace_of(ctx, prepared), None, hold=True)


def _launch(
    backend: Backend, ctx: McpCall, plan: CodexPlan, cwd: str, asked: LimitRequest, retry: int
) -> JobConnection:
    folder = folder_of(cwd)
    check_access(backend.settings, [plan.codex], folder)
    prepared = codex_job.prepare(
        plan,
        asked,
        JobOptions(
            cwd=folder,
            policy=backend.settings.policy,
            bounded=True,
            retry=retry,
            labels={"via": "mcp"} | labels_of(ctx),
        ),
    )
    return backend.pool.launch(in_trace_of(ctx, prepared), None, hold=True)
