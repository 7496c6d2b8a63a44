"""The MCP clients whose configuration unhang can edit: where each has it, and how an entry of it looks.

Nothing is loaded here that `unhang mcp` does not need to serve: the help text of its verbs names the clients.
"""

from __future__ import annotations

import os

from unhang.core.record import Record
from unhang.errors import UsageError

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from typing import Any

ALIASES = {"claude": "claude-code", "code": "vscode", "vs-code": "vscode", "gemini-cli": "gemini"}


class Client(Record):
    """`keys`: the way to the table of servers in the file. `project`: the file of a project, relative to it."""

    name: str
    title: str
    path: str
    keys: tuple[str, ...]
    form: str = "json"  # or "toml"
    project: str | None = None
    kind: str = "plain"

    def entry(self, command: list[str]) -> dict[str, Any]:
        """Return the server, as this client's configuration describes it."""
        if self.kind == "opencode":
            return {"type": "local", "command": command, "enabled": True}
        shown: dict[str, Any] = {"command": command[0], "args": command[1:]}
        if self.kind == "vscode":
            return {"type": "stdio"} | shown
        if self.kind == "zed":
            return {"source": "custom"} | shown | {"env": {}}
        return shown


def known(environ: dict[str, str]) -> dict[str, Client]:
    """Return every client that `unhang mcp install` can edit, by name."""
    home = environ.get("HOME") or os.path.expanduser("~")
    config = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    claude = environ.get("CLAUDE_CONFIG_DIR")
    codex = environ.get("CODEX_HOME") or f"{home}/.codex"
    servers = ("mcpServers",)
    listed = (
        Client(
            "claude-code",
            "Claude Code",
            f"{claude}/.claude.json" if claude else f"{home}/.claude.json",
            servers,
            project=".mcp.json",
            kind="vscode",  # it writes the type down, too
        ),
        Client("codex", "Codex", f"{codex}/config.toml", ("mcp_servers",), "toml", project=".codex/config.toml"),
        Client("cursor", "Cursor", f"{home}/.cursor/mcp.json", servers, project=".cursor/mcp.json"),
        Client(
            "vscode", "VS Code", f"{config}/Code/User/mcp.json", ("servers",), project=".vscode/mcp.json", kind="vscode"
        ),
        Client("gemini", "Gemini CLI", f"{home}/.gemini/settings.json", servers, project=".gemini/settings.json"),
        Client(
            "opencode",
            "opencode",
            f"{config}/opencode/opencode.json",
            ("mcp",),
            project="opencode.json",
            kind="opencode",
        ),
        Client(
            "zed", "Zed", f"{config}/zed/settings.json", ("context_servers",), project=".zed/settings.json", kind="zed"
        ),
    )
    return {client.name: client for client in listed}


def client_of(name: str, environ: dict[str, str]) -> Client:
    """Return the client of this name or alias. Raises UsageError for an unknown one."""
    found = known(environ)
    wanted = ALIASES.get(name.lower(), name.lower())
    if wanted not in found:
        raise UsageError(f"no such client: {name!r}; known clients: {', '.join(found)}")
    return found[wanted]
