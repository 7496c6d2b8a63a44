"""Where the plugin is, and a PATH with or without unhang on it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.places import ROOT

PLUGIN = ROOT / "plugins" / "unhang"
HOOK = PLUGIN / "hooks" / "unhang-hook"
MCP = PLUGIN / "scripts" / "unhang-mcp"
MONITOR = PLUGIN / "scripts" / "unhang-monitor"
COMMANDS = sorted((PLUGIN / "commands").glob("*.md"))
AGENTS = sorted((PLUGIN / "agents").glob("*.md"))
SKILLS = sorted((PLUGIN / "skills").glob("*/SKILL.md"))
# what the wrappers and a session need, and nothing called unhang or python3
_TOOLS = ("sh", "bash", "env", "cat", "tail", "sleep", "git", "mkdir", "rm", "ls", "uname", "dirname", "basename")


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def with_unhang(folder: Path) -> str:
    """A PATH on which `unhang` is the one that is tested."""
    program(folder, "unhang", f'#!/bin/sh\nexec "{sys.executable}" -P -m unhang "$@"\n')
    return f"{folder}:{os.environ['PATH']}"


def without_unhang(folder: Path) -> str:
    """A PATH of a machine that has neither unhang nor Python."""
    folder.mkdir()
    for name in _TOOLS:
        for place in ("/bin", "/usr/bin"):
            if (Path(place) / name).exists():
                (folder / name).symlink_to(Path(place) / name)
                break
    return str(folder)
