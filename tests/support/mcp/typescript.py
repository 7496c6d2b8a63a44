"""One call by the official TypeScript client, in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support import programs
from tests.support.engine import Engine
from tests.support.mcp.harness import Servers

CLIENT = Path(__file__).resolve().parent / "client.mjs"


def begin(engine: Engine, timeout: str, tool: str, **arguments: Any) -> subprocess.Popen[bytes]:
    words = [str(programs.NODE), str(CLIENT), str(programs.SDK), timeout, tool, json.dumps(arguments)]
    server = Servers(engine).command()
    return subprocess.Popen([*words, *server], env=engine.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    try:
        out, error = process.communicate(timeout=150)
    finally:
        process.kill()
    assert process.returncode == 0, error.decode()
    value = json.loads(out)
    assert isinstance(value, dict)
    return value
