"""Ending a Codex app server gently:

turn/interrupt → its background terminals → end of its input → SIGTERM      (then the keeper: SIGKILL, and a sweep)
"""

from __future__ import annotations

import asyncio
import signal
import time

from unhang.agents.base.jsonrpc import Gone, RpcError
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.shutdown import Shutdown
from unhang.agents.codex.protocol.thread import CodexThread
from unhang.agents.codex.server_process import AppServer
from unhang.core.durations import human

_AGAIN = 0.05


class CodexShutdown(Shutdown):
    """The steps for an app server."""

    def __init__(
        self, server: AppServer, codex: CodexThread, channel: KeeperChannel, turn_over: asyncio.Event, grace: float
    ) -> None:
        super().__init__("The app server", server, channel, grace)
        self._server = server
        self._codex = codex
        self._turn_over = turn_over

    async def run(self) -> None:
        """Take all steps."""
        if not self._server.exited and self._codex.thread:
            if self._codex.turn:
                await self._interrupt(self._codex.turn)
            await self._clean()
        await self.close_input()
        await self.signal(signal.SIGTERM, "terminate")
        await self.done()

    async def _interrupt(self, turn: str) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.share(0.4)):
                await self._server.peer.request("turn/interrupt", {"threadId": self._codex.thread, "turnId": turn})
                await self._turn_over.wait()
        except TimeoutError:
            self.tell("interrupt", False, f"turn/interrupt: no answer in {human(time.monotonic() - began)}.")
        except (RpcError, Gone) as error:
            self.tell("interrupt", False, f"turn/interrupt: {error}")
        else:
            self.tell("interrupt", True, f"The turn was interrupted in {human(time.monotonic() - began)}.")

    async def _clean(self) -> None:
        """An interrupted turn leaves its shell commands running as background terminals."""
        left = 0
        try:
            async with asyncio.timeout(self.share(0.4)):
                await self._server.peer.request("thread/backgroundTerminals/clean", {"threadId": self._codex.thread})
                while left := await self._terminals():  # accepted is not done
                    await asyncio.sleep(_AGAIN)
        except TimeoutError:
            text = f"{left} background terminals are still there." if left else "Background terminals: no answer."
            self.tell("clean", False, text)
        except (RpcError, Gone) as error:
            self.tell("clean", False, f"Background terminals: {error}")
        else:
            self.tell("clean", True, "Background terminals are ended.")

    async def _terminals(self) -> int:
        which = {"threadId": self._codex.thread}
        found = (await self._server.peer.request("thread/backgroundTerminals/list", which)).get("data")
        return len(found) if isinstance(found, list) else 0
