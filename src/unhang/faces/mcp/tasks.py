"""The tasks extension (`io.modelcontextprotocol/tasks`): for clients that declare it, a long `run` is a task.

A task is a job, and its id is the id of the job. This server keeps only which questions have been answered, so a task
outlives the server that made it, and another server or the command line can be asked about it.

    working          the job runs                 input_required   the job waits for input, and can be answered
    completed        the job has ended; the       cancelled        the job was cancelled
                     tool's result is inlined     failed           the job is lost: its keeper was killed
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, CallToolRequestParams, RequestParams

from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.faces.mcp.argument_check import ArgumentCheck
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.result import result_of
from unhang.faces.mcp.text import sentence
from unhang.faces.mcp.tool_results import error_result, job_tool_result
from unhang.jobs import control_client
from unhang.jobs.attend import AttendedJob
from unhang.jobs.handle import Job
from unhang.jobs.question import question_of

IDENTIFIER = "io.modelcontextprotocol/tasks"
# A job that ends within this time is answered at once: a client should not have to poll for `ls`.
_SHORTCUT = 0.3
_POLL_MS = 1000
# Ended jobs are kept far longer than this.
_TTL_MS = 24 * 3600 * 1000


class TaskStarter(NamedTuple):
    """How a tool starts its job. `required`: only clients that declare tasks may call the tool."""

    begin: Callable[[Context, dict[str, Any]], Awaitable[AttendedJob]]
    required: bool = False
    shortcut: float = _SHORTCUT


class TaskParams(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateParams(TaskParams):
    """The parameters of `tasks/update`."""

    input_responses: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class Tasks(Extension):
    """The extension as the SDK takes it: three methods, and a hook before each tool call."""

    identifier = IDENTIFIER

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._starters: dict[str, TaskStarter] = {}
        self._answered: set[tuple[str, str]] = set()
        self.check: ArgumentCheck | None = None  # of every call, whether it becomes a task or not

    def offer(self, tool: str, starter: TaskStarter) -> None:
        """Make the calls of this tool tasks, for clients that declare the extension."""
        self._starters[tool] = starter

    def methods(self) -> Sequence[MethodBinding]:
        """Return the methods of the extension. Called by the SDK."""
        return (
            MethodBinding("tasks/get", TaskParams, self._get),
            MethodBinding("tasks/update", UpdateParams, self._update),
            MethodBinding("tasks/cancel", TaskParams, self._cancel),
        )

    # --- starting a task -----------------------------------------------------------------------------------------

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Start a task instead of the tool, or return its result if the job ends at once. Called by the SDK."""
        problem = self.check.problem(params.name, dict(params.arguments or {})) if self.check is not None else None
        if problem is not None:
            return error_result(problem)
        starter = self._starters.get(params.name)
        if starter is None:
            return await call_next(ctx)
        if not _declared(ctx):
            if starter.required:
                require_client_extension(ctx, IDENTIFIER)
            return await call_next(ctx)
        try:
            with self._backend.call():
                attended = await starter.begin(Context(request_context=ctx), dict(params.arguments or {}))
                attended.release()
                ended = await attended.wait(starter.shortcut)
        except UnhangError as error:
            return error_result(str(error))
        if ended:
            attended.finish()
            return job_tool_result(await self._backend.in_thread(result_of, attended.job, self._backend.settings))
        attended.hand_over()
        return {"resultType": "task"} | _envelope(attended.job, attended.job.view(), "working")

    # --- asking about a task -----------------------------------------------------------------------------------

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        job = self._job(ctx, params)
        return {"resultType": "complete"} | await self._backend.in_thread(self._detailed, job)

    def _detailed(self, job: Job) -> dict[str, Any]:
        view = job.view()
        if not view.ended:
            pending = self.pending(job, view)
            shown = _envelope(job, view, "input_required" if pending else "working")
            return shown | ({"inputRequests": pending} if pending else {})
        outcome = view.outcome or {}
        if view.status == "cancelled":
            return _envelope(job, view, "cancelled")
        if (outcome.get("error") or {}).get("code") == "ELOST":
            error = {"code": INTERNAL_ERROR, "message": sentence(str(outcome.get("message", "lost")))}
            return _envelope(job, view, "failed") | {"error": error}
        result = job_tool_result(result_of(job, self._backend.settings))
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return _envelope(job, view, "completed") | {"result": dumped}

    def pending(self, job: Job, view: View) -> dict[str, Any]:
        """Return the open question of a job, under a key that names this one question; empty if there is none."""
        question = question_of(job, view)
        if question is None or not question.answerable or (job.id, question.key) in self._answered:
            return {}
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        message = f"the job asks: {question.quoted(200)}" if question.prompt else "the job waits for input"
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        return {question.key: {"method": "elicitation/create", "params": params}}

    async def _update(self, ctx: ServerRequestContext[Any, Any], params: UpdateParams) -> dict[str, Any]:
        job = self._job(ctx, params)
        await self._backend.in_thread(self._answer, job, params.input_responses)
        return {"resultType": "complete"}

    def _answer(self, job: Job, responses: dict[str, Any]) -> None:
        asked = self.pending(job, job.view())
        for key in [key for key in responses if key in asked]:
            self._answered.add((job.id, key))
            self.deliver(job, key, responses[key])

    def deliver(self, job: Job, key: str, response: Any) -> None:
        """Send an answer to the job as a line; a refusal is sent as end of file."""
        del key
        given = response if isinstance(response, dict) else {}
        try:
            if given.get("action") == "accept":
                job.send(typed(given.get("content")) + "\n")
            else:
                job.send(b"", eof=True)
        except UnhangError:
            pass  # the job has ended meanwhile; the next `tasks/get` says so

    async def _cancel(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> dict[str, Any]:
        job = self._job(ctx, params)
        await self._backend.in_thread(_cancel, job)
        return {"resultType": "complete"}

    def _job(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> Job:
        require_client_extension(ctx, IDENTIFIER)
        headers = getattr(ctx.request, "headers", None)
        named = headers.get("mcp-name") if headers is not None else None
        if named is not None and named != params.task_id:
            raise MCPError(code=HEADER_MISMATCH, message="Mcp-Name is not the taskId")
        try:
            return self._backend.job(params.task_id)
        except UnhangError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from None


def _declared(ctx: ServerRequestContext[Any, Any]) -> bool:
    capabilities = ctx.session.client_capabilities
    return bool(capabilities and capabilities.extensions and IDENTIFIER in capabilities.extensions)


def _envelope(job: Job, view: View, status: str) -> dict[str, Any]:
    last = view.last_events[-1] if view.last_events else {}
    created = str(job.spec.get("createdAt") or view.started_at or last.get("ts", ""))
    return {
        "taskId": job.id,
        "status": status,
        "statusMessage": sentence(str(last.get("message", ""))),
        "createdAt": created,
        "lastUpdatedAt": str(last.get("ts") or created),
        "ttlMs": _TTL_MS,
        "pollIntervalMs": _POLL_MS,
    }


def typed(content: Any) -> str:
    """Return the line that a person would type: the text, or the first answer of a form."""
    found = content.get("text", next(iter(content.values()), "")) if isinstance(content, dict) else content
    if isinstance(found, bool):
        return "y" if found else "n"
    return "" if found is None else str(found)


def _cancel(job: Job) -> None:
    try:
        control_client.ask(job.place, do="cancel", by="its client")
    except (control_client.JobHasEnded, OSError):
        pass
