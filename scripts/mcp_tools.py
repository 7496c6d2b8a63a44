"""Writes the list of tools that the MCP server gives while it is still being loaded: src/unhang/data/mcp_tools.json.

    python scripts/mcp_tools.py

It is made by the tools themselves; a test fails when it is out of date.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from unhang.faces.mcp.backend import Backend
from unhang.faces.mcp.listed_tools import ALWAYS, PATH, WITH_CODEX
from unhang.faces.mcp.server import Server
from unhang.faces.mcp.settings import Settings

_VARIABLE = "UNHANG_CODEX"


def written(folder: Path) -> str:
    """The text of the file. `folder`: for a program in the place of Codex, which is never run."""
    program = folder / "codex"
    program.touch(0o755)
    without = _listed(str(folder / "none"))
    with_codex = _listed(str(program))
    if with_codex[: len(without)] != without:
        raise SystemExit("the tools for Codex must stand behind the others")
    parts = {ALWAYS: without, WITH_CODEX: with_codex[len(without) :]}
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def _listed(codex: str) -> list[dict[str, Any]]:
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = codex
    try:
        return Server(Backend(Settings())).list_tools()
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        Path(PATH).write_text(written(Path(folder)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
