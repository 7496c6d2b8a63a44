"""The tasks extension (`io.modelcontextprotocol/tasks`): for clients that declare it, a long `run` is a task.

A task is a job, and its id is the id of the job. This server keeps only which questions have been answered, so a task
outlives the server that made it, and another server or the command line can be asked about it.

    working          the job runs                 input_required   the job waits for input, and can be answered
    completed        the job has ended; the       cancelled        the job was cancelled
                     tool's result is inlined     failed           the job is lost: its keeper was killed
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from unhang.core.events import ELOST, error_code
from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.protocol import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    TASKS_EXTENSION,
    ProtocolError,
)
from unhang.faces.mcp.result import result_of
from unhang.faces.mcp.text import in_tool_words, sentence
from unhang.faces.mcp.tool_results import error_result, job_tool_result
from unhang.jobs import control_client
from unhang.jobs.attend import AttendedJob
from unhang.jobs.handle import Job
from unhang.jobs.question import question_of

# A job that ends within this time is answered at once: a client should not have to poll for `ls`.
_SHORTCUT = 0.3
_POLL_MS = 1000
# Ended jobs are kept far longer than this.
_TTL_MS = 24 * 3600 * 1000


class TaskStarter(NamedTuple):
    """How a tool starts its job. `required`: only clients that declare tasks may call the tool."""

    begin: Callable[[McpCall, dict[str, Any]], Awaitable[AttendedJob]]
    required: bool = False
    shortcut: float = _SHORTCUT


class Tasks:
    """The extension: a step before the call of a tool, and three methods."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._starters: dict[str, TaskStarter] = {}
        self._answered: set[tuple[str, str]] = set()

    def offer(self, tool: str, starter: TaskStarter) -> None:
        """Make the calls of this tool tasks, for clients that declare the extension."""
        self._starters[tool] = starter

    # --- starting a task -----------------------------------------------------------------------------------------

    async def begin(self, call: McpCall, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Start a task instead of the tool, or return its result if the job ends at once. None: call the tool."""
        starter = self._starters.get(tool)
        if starter is None:
            return None
        if TASKS_EXTENSION not in call.extensions:
            if starter.required:
                require_extension(call)
            return None
        try:
            with self._backend.call():
                attended = await starter.begin(call, arguments)
                await attended.release()
                ended = await attended.wait(starter.shortcut)
        except UnhangError as error:
            return error_result(str(error)).to_json()
        if ended:
            attended.finish()
            found = await self._backend.in_thread(result_of, attended.job, self._backend.settings)
            return job_tool_result(found).to_json()
        await attended.hand_over()
        return {"resultType": "task"} | _envelope(attended.job, attended.job.view(), "working")

    # --- asking about a task -----------------------------------------------------------------------------------

    async def get(self, call: McpCall, params: dict[str, Any]) -> dict[str, Any]:
        """Return where a task stands, with its result or its question."""
        job = self._job(call, params)
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
        if error_code(outcome) == ELOST:
            error = {"code": INTERNAL_ERROR, "message": sentence(str(outcome.get("message", "lost")))}
            return _envelope(job, view, "failed") | {"error": error}
        result = job_tool_result(result_of(job, self._backend.settings))
        return _envelope(job, view, "completed") | {"result": result.to_json()}

    def pending(self, job: Job, view: View) -> dict[str, Any]:
        """Return the open question of a job, under a key that names this one question; empty if there is none."""
        question = question_of(job, view)
        if question is None or not question.answerable or (job.id, question.key) in self._answered:
            return {}
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        message = f"the job asks: {question.quoted(200)}" if question.prompt else "the job waits for input"
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        return {question.key: {"method": "elicitation/create", "params": params}}

    async def update(self, call: McpCall, params: dict[str, Any]) -> dict[str, Any]:
        """Give a task the answers to its questions."""
        job = self._job(call, params)
        await self._backend.in_thread(self._answer, job, params.get("inputResponses") or {})
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
                job.send(typed_line(given.get("content")) + "\n")
            else:
                job.send(b"", eof=True)
        except UnhangError:
            pass  # the job has ended meanwhile; the next `tasks/get` says so

    async def cancel(self, call: McpCall, params: dict[str, Any]) -> dict[str, Any]:
        """Ask a task to end."""
        job = self._job(call, params)
        await self._backend.in_thread(_cancel, job)
        return {"resultType": "complete"}

    def _job(self, call: McpCall, params: dict[str, Any]) -> Job:
        require_extension(call)
        name = str(params["taskId"])
        if call.named is not None and call.named != name:
            raise ProtocolError(HEADER_MISMATCH, "Mcp-Name is not the taskId")
        try:
            return self._backend.job(name)
        except UnhangError as error:
            raise ProtocolError(INVALID_PARAMS, str(error)) from None


def require_extension(call: McpCall) -> None:
    """Raise ProtocolError unless the client declares this extension."""
    if TASKS_EXTENSION not in call.extensions:
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
        raise ProtocolError(
            MISSING_CAPABILITY, f"Client did not declare required extension '{TASKS_EXTENSION}'", needed
        )


def _envelope(job: Job, view: View, status: str) -> dict[str, Any]:
    last = view.last_events[-1] if view.last_events else {}
    created = str(job.spec.get("createdAt") or view.started_at or last.get("ts", ""))
    return {
        "taskId": job.id,
        "status": status,
        "statusMessage": sentence(str(in_tool_words(last, job.id).get("message", ""))),
        "createdAt": created,
        "lastUpdatedAt": str(last.get("ts") or created),
        "ttlMs": _TTL_MS,
        "pollIntervalMs": _POLL_MS,
    }


def typed_line(content: Any) -> str:
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
