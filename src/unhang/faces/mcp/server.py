"""The server itself, whichever way its clients come in: its tools, tasks and resources, and what each request does."""

from __future__ import annotations

from typing import Any

from unhang.faces.mcp import resources
from unhang.faces.mcp.argument_check import problem_of
from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.call import McpCall
from unhang.faces.mcp.protocol import INVALID_PARAMS, ProtocolError
from unhang.faces.mcp.settings import MYSHELL
from unhang.faces.mcp.tasks import Tasks, TaskStarter
from unhang.faces.mcp.tool_results import error_result
from unhang.faces.mcp.toolbox import Toolbox
from unhang.faces.mcp.tools import aliases, codex, jobs, read, run


class Server:
    """What a client can ask of this server."""

    def __init__(self, backend: Backend, tasks: Tasks | None = None) -> None:
        """`tasks`: the extension, if it is to offer more tools than ours."""
        self.backend = backend
        self.tools = Toolbox()
        self.tasks = tasks or Tasks(backend)
        self.updates = resources.Updates(backend)
        run.register(self.tools, backend)
        if backend.settings.aliases != MYSHELL:
            self.tasks.offer("run", TaskStarter(run.as_task(self.tools, backend)))
        jobs.register(self.tools, backend)
        read.register(self.tools, backend)
        codex.register(self.tools, backend)
        aliases.register(self.tools, backend)

    def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools as a list shows them."""
        return [tool.to_json() for tool in self.tools.all()]

    async def call_tool(self, call: McpCall, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool, or start a task for it, and put the news for this client on top of the answer."""
        tool = self.tools.get(name)
        problem = problem_of(self.tools, name, arguments)
        if problem is not None or tool is None:
            answer = error_result(problem or "").to_json()
        else:
            answer = await self.tasks.begin(call, name, arguments) or (await tool.call(call, arguments)).to_json()
        return await self.backend.handed_over.with_news(call.client, answer)

    async def serve(self, call: McpCall, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a request. Raises ProtocolError."""
        match method:
            case "tools/call":
                return await self.call_tool(call, params["name"], params.get("arguments") or {})
            case "tools/list":
                return {"tools": self.list_tools()}
            case "resources/list":
                return {"resources": await self.backend.in_thread(resources.list_jobs, self.backend)}
            case "resources/templates/list":
                return {"resourceTemplates": [each.to_json() for each in resources.TEMPLATES]}
            case "resources/read":
                return {"contents": [await self.backend.in_thread(resources.read, self.backend, params["uri"])]}
            case "prompts/list":
                return {"prompts": []}
            case "tasks/get":
                return await self.tasks.get(call, params)
            case "tasks/update":
                return await self.tasks.update(call, params)
            case "tasks/cancel":
                return await self.tasks.cancel(call, params)
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {params.get('name')}")  # prompts/get: there are none
