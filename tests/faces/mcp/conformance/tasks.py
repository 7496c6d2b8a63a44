"""The task-supporting tools that the suite's tasks scenarios call: each one a command, begun as a job."""

from __future__ import annotations

import os
import shlex
import uuid
from pathlib import Path
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams

from unhang.core.limit_request import LimitRequest
from unhang.core.view import View
from unhang.errors import UnhangError
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.job_call import attend
from unhang.faces.mcp.protocol import ProtocolError
from unhang.faces.mcp.sdk import SdkCall, ToolCalls, complete
from unhang.faces.mcp.tasks import Tasks, TaskStarter, typed_line
from unhang.jobs.attend import AttendedJob
from unhang.jobs.handle import Job

QUESTIONS = ("name-1", "name-2")
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def _ask(message: str) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": SCHEMA},
    }


class FixtureTasks(Tasks):
    """A job of ours asks one question at a time; the suite also wants two at once, and one before the task is made."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.two_questions: dict[str, dict[str, str]] = {}  # job → the answers so far
        self.gates: dict[str, Path] = {}  # job → what it waits for

    async def begin(self, call: McpCall, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        begun = await super().begin(call, tool, arguments)
        if begun is not None and begun.get("taskId") in self.gates:
            self.gates.pop(begun["taskId"]).touch()
        return begun

    def pending(self, job: Job, view: View) -> dict[str, Any]:
        if job.id not in self.two_questions:
            return super().pending(job, view)
        return {key: _ask(key) for key in QUESTIONS if key not in self.two_questions[job.id]}

    def deliver(self, job: Job, key: str, response: Any) -> None:
        if job.id not in self.two_questions:
            super().deliver(job, key, response)
            return
        answers = self.two_questions[job.id]
        answers[key] = typed_line(response.get("content"))
        if len(answers) == len(QUESTIONS):
            try:
                job.send("".join(f"{answers[name]}\n" for name in QUESTIONS))
            except UnhangError:
                pass


class FixtureCalls(ToolCalls):
    """Tools of the suite beside ours: some are tasks, the others are the SDK's own."""

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if self.server.tools.get(params.name) is not None:
            return await super().intercept_tool_call(params, ctx, call_next)
        arguments = dict(params.arguments or {})
        if params.name == "test_tool_with_task":
            if not params.input_responses:
                return {"resultType": "input_required", "inputRequests": {"user_name": _ask("What is your name?")}}
            content = getattr(params.input_responses["user_name"], "content", None)
            arguments = {"user_name": typed_line(content)}
        try:
            begun = await self.server.tasks.begin(SdkCall(ctx), params.name, arguments)
            return await call_next(ctx) if begun is None else complete(begun)
        except ProtocolError as error:
            raise MCPError(code=error.code, message=error.message, data=error.data) from None


def offer(server: MCPServer[Any], backend: Backend, tasks: FixtureTasks) -> None:
    async def begin(ctx: McpCall, line: str, *, stdin: str = "null") -> AttendedJob:
        prepared = await backend.in_thread(
            backend.prepare, line, cwd="", env=None, stdin=stdin, pty=False, asked=LimitRequest(), labels={}
        )
        return await attend(backend, ctx, await backend.in_thread(backend.pool.launch, prepared, None, hold=True))

    async def held(ctx: McpCall, line: str) -> AttendedJob:
        """Begin a job that is a task for certain: however slow the machine is, it does not end before it is one."""
        gate = Path(os.environ["UNHANG_HOME"]).parent / f"gate-{uuid.uuid4().hex}"
        attended = await begin(ctx, f"until [ -e {shlex.quote(str(gate))} ]; do sleep 0.05; done; {line}")
        tasks.gates[attended.job.id] = gate
        return attended

    async def slow(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        seconds = float(arguments.get("seconds", 0))
        return await (held if seconds else begin)(ctx, f"sleep {seconds}; echo computed")

    async def failing(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        del arguments
        return await held(ctx, "sleep 1; echo it went wrong >&2; exit 1")

    async def protocol_error(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        del arguments
        return await held(ctx, "sleep 1; kill -9 $PPID; sleep 60")  # its keeper: the job is lost, which is no result

    async def confirm(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        del arguments
        return await begin(ctx, "printf 'Delete it? [y/n] '; read answer; echo answered $answer", stdin="pipe")

    async def two(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        del arguments
        attended = await begin(ctx, "read one; read two; echo $one $two", stdin="pipe")
        tasks.two_questions[attended.job.id] = {}
        return attended

    async def named(ctx: McpCall, arguments: dict[str, Any]) -> AttendedJob:
        return await held(ctx, f"sleep 0.5; echo Hello {arguments['user_name']}")

    for name, start, required in (
        ("slow_compute", slow, False),
        ("failing_job", failing, True),
        ("protocol_error_job", protocol_error, False),
        ("confirm_delete", confirm, False),
        ("multi_input", two, False),
        ("test_tool_with_task", named, True),
    ):
        tasks.offer(name, TaskStarter(start, required))

        async def for_others(seconds: float = 0, label: str = "", filename: str = "", user_name: str = "") -> str:
            """A client without tasks gets its answer in the call."""
            del label, filename, user_name
            return f"computed in {seconds:g} s"

        server.add_tool(for_others, name=name, description="a fixture", structured_output=False)
