"""Results and mistakes → what the SDK sends. A caller's mistake is a tool error that a model can read."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from unhang.errors import UnhangError
from unhang.faces.mcp import texts

_Arguments = ParamSpec("_Arguments")


def job_answer(shown: dict[str, Any]) -> CallToolResult:
    """`isError` for everything that is neither success nor still running."""
    failed = shown["status"] not in ("success", "running")
    return answer(shown, texts.of_result(shown), is_error=failed)


def answer(structured: dict[str, Any] | BaseModel, text: str, *, is_error: bool = False) -> CallToolResult:
    if isinstance(structured, BaseModel):
        structured = structured.model_dump(by_alias=True, mode="json")
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=_clean(structured), is_error=is_error
    )


def mistake(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def readable(
    tool: Callable[_Arguments, Awaitable[CallToolResult]],
) -> Callable[_Arguments, Awaitable[CallToolResult]]:
    """Our own errors are one line for people already; the SDK would put its own words before them."""

    @functools.wraps(tool)
    async def call(*args: _Arguments.args, **options: _Arguments.kwargs) -> CallToolResult:
        try:
            return await tool(*args, **options)
        except UnhangError as error:
            return mistake(str(error))
        except OSError as error:
            return mistake(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")

    return call


def _clean(value: Any) -> Any:
    """Half of a surrogate pair (an undecodable byte of a command line) is no JSON text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(v) for v in value]
    return value
