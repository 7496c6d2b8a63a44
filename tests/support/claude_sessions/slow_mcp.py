"""An MCP server whose tool `hang` never answers, and whose tool `quick` does. Only the standard library."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in ("hang", "quick")]


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    match request.get("method"):
        case "initialize":
            version = request["params"]["protocolVersion"]
            server = {"name": "slow", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if request["params"]["name"] == "quick":
            return {"content": [{"type": "text", "text": "quick"}]}
        case "tools/call":
            return None
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and (result := answer(request)) is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
