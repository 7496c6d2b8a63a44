"""One `codex app-server` as a child: started and greeted."""

from __future__ import annotations

from collections.abc import Callable

from unhang.agents.base.child import Child, Line, started
from unhang.agents.base.jsonrpc import Message, Peer, Recorder
from unhang.agents.base.version import version
from unhang.core.values import text_of


class AppServer(Child):
    def __init__(
        self,
        line: Line,
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
    ) -> None:
        self.peer = Peer(line.writer, recorder, heard)  # Codex leaves the "jsonrpc" field out
        self.version = ""
        super().__init__(line, recorder, trouble)

    @classmethod
    async def start(
        cls,
        program: str,
        config: list[str],
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
    ) -> AppServer:
        """Raises OSError if it cannot be started."""
        words = [word for entry in config for word in ("-c", entry)]
        return cls(await started([program, "app-server", *words]), heard, recorder, trouble)

    def _take(self, message: Message) -> None:
        self.peer.take(message)

    def _print(self, text: str) -> None:
        pass  # nothing that is known of it, and nothing to be done about it

    def _leave(self, why: str) -> None:
        self.peer.leave(why)

    async def greet(self) -> None:
        client = {"name": "unhang", "title": "unhang", "version": version()}
        hello = {"clientInfo": client, "capabilities": {"experimentalApi": True}}
        answer = await self.peer.request("initialize", hello)
        self.peer.send({"method": "initialized"})
        # "unhang/0.166.0 (Debian …) …": the program's own version stands after our name
        self.version = text_of(answer, "userAgent").partition("/")[2].partition(" ")[0][:60]
