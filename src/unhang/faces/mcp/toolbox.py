"""The tools of a server, made from functions: their schemas from the annotations, their arguments checked by them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_args, get_type_hints

from unhang.faces.mcp.call import McpCall, ToolResult
from unhang.faces.mcp.schema import accept_value, schema_of, without_null

# What clients may expect of a tool: it only reads, it changes something, it ends something, it does anything at all.
READS = {"readOnlyHint": True, "openWorldHint": False}
CHANGES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
RUNS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


class Tool:
    """A function that a client can call."""

    def __init__(
        self,
        function: Callable[..., Awaitable[ToolResult]],
        name: str,
        title: str,
        description: str,
        annotations: dict[str, bool],
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.annotations = annotations
        self._function = function
        hints = get_type_hints(function, include_extras=True)
        self._takes_call = [each for each, hint in hints.items() if hint is McpCall]
        self.output = schema_of(get_args(hints["return"])[1])
        self.defaults: dict[str, Any] = {}  # of the arguments that may be left out
        fields: dict[str, dict[str, Any]] = {}
        required: list[str] = []
        for argument in inspect.signature(function).parameters.values():
            if argument.name in self._takes_call:
                continue
            schema = schema_of(hints[argument.name])
            if argument.default is argument.empty:
                required.append(argument.name)
                fields[argument.name] = schema
            else:
                fields[argument.name] = without_null(schema, argument.default)
                self.defaults[argument.name] = argument.default
        self._hints = {name: schema_of(hints[name]) for name in fields}
        self.parameters: dict[str, Any] = {"type": "object", "properties": fields, "additionalProperties": False}
        if required:
            self.parameters["required"] = required

    def taken(self, name: str, value: Any) -> Any:
        """Return the value of an argument as the function takes it. Raises Mismatch."""
        return accept_value(self._hints[name], value)

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call as the function takes them. Raises Mismatch."""
        return {name: self.taken(name, value) for name, value in given.items()}

    async def call(self, call: McpCall, given: dict[str, Any]) -> ToolResult:
        """Call the tool with arguments that were checked."""
        mine = dict.fromkeys(self._takes_call, call)
        return await self._function(**mine, **self.arguments(given))

    def to_json(self) -> dict[str, Any]:
        """Return the tool as a list of tools shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.parameters,
            "outputSchema": self.output,
            "annotations": self.annotations,
        }


class Toolbox:
    """The tools by their names, in the order in which they were added."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(
        self,
        function: Callable[..., Awaitable[ToolResult]],
        *,
        title: str,
        description: str,
        annotations: dict[str, bool],
        name: str = "",
    ) -> None:
        """Offer a function as a tool, under its own name unless another one is given."""
        tool = Tool(function, name or function.__name__, title, description, annotations)
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name."""
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        """Return every tool."""
        return list(self._tools.values())
