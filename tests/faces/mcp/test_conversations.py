"""Whole conversations in both eras, as they went with a server on the official SDK: ours answers the same.

conversations.json has what a client says, byte by byte (Latin-1), and the essence of what it hears. Sentences are left
out, and what a tool answers. Some lines are answered better than they were: a byte order mark is no reason to refuse
one, and what is refused is refused under its id.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine

RECORDED = json.loads((Path(__file__).parent / "conversations.json").read_text())


def essence(answer: dict[str, Any]) -> dict[str, Any]:
    """What an answer says, without its sentences."""
    if "error" in answer:
        return {"id": answer["id"], "error": {key: answer["error"].get(key) for key in ("code", "data")}}
    found = dict(answer["result"])
    if "content" in found:
        return {"id": answer["id"], "isError": found["isError"], "resultType": found.get("resultType")}
    if "tools" in found:
        found["tools"] = [{"name": tool["name"], "inputSchema": tool["inputSchema"]} for tool in found["tools"][:2]]
    if "resourceTemplates" in found:
        found["resourceTemplates"] = [each["uriTemplate"] for each in found["resourceTemplates"]]
    found.pop("instructions", None)
    for place in (found, found.get("_meta") or {}):
        for key in [key for key in place if key.endswith("serverInfo")]:
            place[key] = place[key]["name"]
    return {"id": answer["id"], "result": found}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_conversation_is_answered_alike(name: str, engine: Engine) -> None:
    says, hears = RECORDED[name]["says"], RECORDED[name]["hears"]
    server = subprocess.Popen(
        [sys.executable, "-m", "unhang", "mcp"],
        env=engine.env | {"PATH": "/usr/bin:/bin"},  # no Codex, whose tools would be in the list
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server.stdin, server.stdout:
        server.stdin.write("".join(f"{line}\n" for line in says).encode("latin-1"))
        server.stdin.flush()
        heard = [essence(json.loads(server.stdout.readline())) for _ in hears]
        server.stdin.close()
        assert server.stdout.read() == b""  # nothing that was not to be answered
    assert server.wait(60) == 0
    assert sorted(map(json.dumps, map(_sorted, heard))) == sorted(map(json.dumps, map(_sorted, hears)))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
