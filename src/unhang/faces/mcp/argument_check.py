"""Refuses a call whose arguments a tool does not take, in one line that names the right ones.

An argument that is not known is not dropped: a caller who writes `timeout` would believe that there is one.
"""

from __future__ import annotations

from typing import Any

from unhang.core.plain_text import quoted
from unhang.faces.mcp.schema import Mismatch
from unhang.faces.mcp.toolbox import Tool, Toolbox

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


def problem_of(tools: Toolbox, name: str, given: dict[str, Any]) -> str | None:
    """Return what is wrong with a call, in one line; None if nothing is."""
    tool = tools.get(name)
    if tool is None:
        names = ", ".join(each.name for each in tools.all())
        return f"there is no tool {quoted(name, _SHOWN_NAME)}; there are: {names}"
    known = list(tool.parameters["properties"])
    for argument in given:
        if argument not in known:
            return f"{name} has no argument {quoted(argument, _SHOWN_NAME)}{_instead(argument, known)}"
    for argument in tool.parameters.get("required", ()):
        if argument not in given:
            return f"{name}: {argument} is needed{_told(tool, argument)}"
    for argument, value in given.items():
        try:
            tool.taken(argument, value)
        except Mismatch as error:
            found = quoted(str(value), _SHOWN_NAME)
            return f"{name}: {argument}: {error}, not {found}{_told(tool, argument)}"
    return None


def _told(tool: Tool, argument: str) -> str:
    """What the model was told of an argument, in parentheses."""
    text = tool.parameters["properties"][argument].get("description")
    return f" ({text})" if text else ""


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
