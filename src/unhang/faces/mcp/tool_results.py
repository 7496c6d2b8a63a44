"""Makes the results of the tools. A mistake of the caller is a tool error that a model can read."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from unhang.core import plain_text, values
from unhang.core.policy.file.load import PolicyError
from unhang.errors import UnhangError, os_error_text
from unhang.faces.mcp.call import ToolResult
from unhang.faces.mcp.text import text_of_result

_Arguments = ParamSpec("_Arguments")


def job_tool_result(shown: dict[str, Any]) -> ToolResult:
    """Return the result of a job as a tool result: an error unless the job has succeeded or still runs."""
    failed = shown["status"] not in ("success", "running")
    return tool_result(shown, text_of_result(shown), is_error=failed)


def tool_result(structured: dict[str, Any], text: str, *, is_error: bool = False) -> ToolResult:
    """Return a tool result with a structure for programs and a text for models."""
    return ToolResult(content=[_text(text)], structured=values.for_json(structured), is_error=is_error)


def error_result(text: str) -> ToolResult:
    """Return a tool error of one line: it may quote the caller's arguments or a file of the project."""
    return ToolResult(content=[_text(plain_text.one_line(text, 2000))], is_error=True)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": values.visible_bytes(text)}


def with_readable_errors(
    tool: Callable[_Arguments, Awaitable[ToolResult]],
) -> Callable[_Arguments, Awaitable[ToolResult]]:
    """Return the tool with our errors as tool errors: they are one line already."""

    @functools.wraps(tool)
    async def call(*args: _Arguments.args, **options: _Arguments.kwargs) -> ToolResult:
        try:
            return await tool(*args, **options)
        except PolicyError as error:  # it may quote a project's file
            return error_result(f"the policy cannot be used: {plain_text.quoted(str(error), 400)}")
        except UnhangError as error:
            return error_result(str(error))
        except OSError as error:
            return error_result(os_error_text(error))

    return call
