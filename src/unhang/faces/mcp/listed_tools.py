"""The list of tools as it is known before the tools are loaded: written down by scripts/mcp_tools.py.

A test holds it against what the tools themselves say.
"""

from __future__ import annotations

import os

from unhang.agents.codex.program import PROGRAM
from unhang.core import json_text
from unhang.errors import SpawnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unhang.faces.mcp.settings import Settings

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "data/mcp_tools.json")
# The parts of the file: tools that are always there, and those that follow where there is Codex.
ALWAYS, WITH_CODEX = "always", "withCodex"


def list_tools(settings: Settings) -> dict[str, Any] | None:
    """Return the result of `tools/list`; None: only the tools themselves know it."""
    if settings.aliases:
        return None
    try:
        with open(PATH, "rb") as file:
            found = json_text.decode(file.read())
    except OSError:
        return None
    try:
        PROGRAM.find()
    except SpawnError:
        return {"tools": found[ALWAYS]}
    return {"tools": found[ALWAYS] + found[WITH_CODEX]}
