"""Serves MCP on stdin and stdout. The server ends at end of file, or when the process of its client dies."""

from __future__ import annotations

from unhang.faces.mcp.greeter import Greeter
from unhang.faces.mcp.stdio_ends import claim_ends
from unhang.jobs.client_process import open_client
from unhang.jobs.home import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.faces.mcp.settings import Settings

# What serving needs, in parts that are loaded in a few milliseconds each: what the client asks meanwhile is answered
# between them. The last one brings along whatever is not named here.
PARTS = (
    "unhang.faces.mcp.listed_tools",  # which is asked for next
    "collections",
    "enum",
    "re",
    "typing",
    "ast",
    "dis",
    "inspect",
    "socket",
    "ssl",
    "logging",
    "subprocess",
    "concurrent.futures",
    "asyncio",
    "sqlite3",
    "unhang.jobs.handle",
    "unhang.jobs.history",
    "unhang.jobs.pool",
    "unhang.agents.codex.job",
    "unhang.faces.mcp.access.check",
    "unhang.faces.mcp.text",
    "unhang.faces.mcp.backend",
    "unhang.faces.mcp.resources",
    "unhang.faces.mcp.tasks",
    "unhang.faces.mcp.server",
    "unhang.faces.mcp.stdio_service",
)


def serve(settings: Settings) -> int:
    """Serve the client on stdin and stdout until it is gone."""
    watched = open_client()
    if watched is None:
        return 0
    state_home()  # where it cannot be told, nothing is served

    def list_tools() -> dict[str, Any] | None:
        from unhang.faces.mcp.listed_tools import list_tools

        return list_tools(settings)

    heard, said = claim_ends()
    greeter = Greeter(heard, said, list_tools)
    for part in PARTS:
        greeter.answer()
        if greeter.client_left:
            return 0
        __import__(part)
    greeter.answer()
    from unhang.faces.mcp import stdio_service

    return stdio_service.serve(settings, heard, said, greeter.conversation, watched)
