"""Where each client keeps its list of servers, and what an entry looks like there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from unhang.jobs import executable

NAME = "unhang"


@dataclass(frozen=True)
class Client:
    """`keys`: the way to the table of servers in the file. `project`: the file of a project, relative to it."""

    name: str
    title: str
    path: str
    keys: tuple[str, ...]
    form: str = "json"  # or "toml"
    project: str | None = None
    kind: str = "plain"

    def entry(self, command: list[str]) -> dict[str, Any]:
        if self.kind == "opencode":
            return {"type": "local", "command": command, "enabled": True}
        shown: dict[str, Any] = {"command": command[0], "args": command[1:]}
        if self.kind == "vscode":
            return {"type": "stdio"} | shown
        if self.kind == "zed":
            return {"source": "custom"} | shown | {"env": {}}
        return shown


def known(environ: dict[str, str]) -> dict[str, Client]:
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


ALIASES = {"claude": "claude-code", "code": "vscode", "vs-code": "vscode", "gemini-cli": "gemini"}


def command() -> list[str]:
    return [*executable.command(), "mcp"]
