"""Refuses a call whose arguments a tool does not take, in one line that names the right ones.

The SDK drops an argument that it does not know: a caller who writes `timeout` would believe that there is one.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

from unhang.core.plain_text import quoted

# What other servers call the things that these tools have under another name.
_ALSO_CALLED = {
    "timeout": ("timeout_sec",),
    "timeoutseconds": ("timeout_sec",),
    "timeoutms": ("hardTimeoutMs",),
    "maxruntimems": ("hardTimeoutMs",),
    "cmd": ("command",),
    "script": ("command",),
    "line": ("command",),
    "args": ("argv",),
    "workdir": ("cwd",),
    "workingdirectory": ("cwd",),
    "directory": ("cwd",),
    "dir": ("cwd",),
    "path": ("cwd",),
    "environment": ("env",),
    "input": ("stdin", "text"),
    "tty": ("pty",),
    "id": ("job_id",),
    "job": ("job_id",),
    "pid": ("job_id",),
    "taskid": ("job_id",),
    "sessionid": ("job_id",),
    "jobids": ("job_id",),
    "data": ("text", "stdin"),
    "chars": ("text",),
    "yieldtimems": ("wait_sec",),
    "wait": ("wait_sec",),
    "seconds": ("wait_sec",),
}
_STAYS = frozenset({"background", "runinbackground", "detach", "detached", "isbackground"})
_SHOWN_NAME = 40


class ArgumentCheck:
    """Checks the arguments of a call before the SDK takes them."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server

    def problem(self, name: str, given: dict[str, Any]) -> str | None:
        """Return what is wrong with the arguments of a call, in one line; None if nothing is."""
        tool = self._server._tool_manager.get_tool(name)
        if tool is None:
            tools = ", ".join(each.name for each in self._server._tool_manager.list_tools())
            return f"there is no tool {quoted(name, _SHOWN_NAME)}; there are: {tools}"
        known = list(tool.parameters.get("properties", {}))
        for argument in given:
            if argument not in known:
                return f"{name} has no argument {quoted(argument, _SHOWN_NAME)}{_instead(argument, known)}"
        try:
            tool.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            return f"{name}: {_first(error, tool)}"
        return None


def _instead(argument: str, known: list[str]) -> str:
    plain = _plain(argument)
    if plain in _STAYS and "command" in known:
        return ": use the tool `start` for what is to stay in the background"
    also = [name for name in _ALSO_CALLED.get(plain, ()) if name in known]
    nearest = also[0] if also else _nearest(plain, known)
    hint = f"; did you mean {nearest}? It takes" if nearest else "; it takes"
    return f"{hint}: {', '.join(known) or 'nothing'}"


def _nearest(plain: str, known: list[str]) -> str:
    import difflib  # rarely needed

    names = {_plain(name): name for name in known}
    found = difflib.get_close_matches(plain, names, 1, 0.6)
    return names[found[0]] if found else ""


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _first(error: ValidationError, tool: Tool) -> str:
    """The first mistake, without the words of the library that found it."""
    found = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in found["loc"][:1]) or "arguments"
    told = tool.parameters.get("properties", {}).get(place, {}).get("description", "")
    what = str(found["msg"])[:1].lower() + str(found["msg"])[1:]
    given = "" if found["type"] == "missing" else f", not {quoted(str(found['input']), _SHOWN_NAME)}"
    return f"{place}: {what}{given}" + (f" ({told})" if told else "")
