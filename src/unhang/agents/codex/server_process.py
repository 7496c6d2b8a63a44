"""One `codex app-server` as a child: started and greeted."""

from __future__ import annotations

from typing import Any

from unhang.agents.base.child import RpcChild
from unhang.agents.base.version import client_info
from unhang.core.values import text_of


class AppServer(RpcChild):
    """The app server as a child."""

    opening = {}  # noqa: RUF012 - nothing writes to it; Codex leaves the "jsonrpc" field out

    def __init__(self, *given: Any) -> None:
        self.version = ""
        super().__init__(*given)

    async def greet(self) -> None:
        """Do the handshake. Raises RpcError or Gone."""
        hello = {"clientInfo": client_info(), "capabilities": {"experimentalApi": True}}
        answer = await self.peer.request("initialize", hello)
        self.peer.send({"method": "initialized"})
        # "unhang/0.166.0 (Debian …) …": the program's own version stands after our name
        self.version = text_of(answer, "userAgent").partition("/")[2].partition(" ")[0][:60]
