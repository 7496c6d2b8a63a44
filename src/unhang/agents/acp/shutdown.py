"""Ending an ACP agent gently:

session/cancel → end of its input → SIGTERM      (then the keeper: SIGKILL, and a sweep)
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from unhang.agents.acp.child import Agent
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.shutdown import Shutdown
from unhang.core.durations import human


class AcpShutdown(Shutdown):
    def __init__(self, agent: Agent, channel: KeeperChannel, grace: float) -> None:
        super().__init__("The agent", agent, channel, grace)
        self._agent = agent

    async def run(self, cancel: Callable[[], bool], turn_over: asyncio.Event) -> None:
        """`cancel` sends it, if there is a turn that it could hit."""
        if not self._agent.exited and cancel():
            began = time.monotonic()
            done = await self._either(turn_over, self.share(0.4))
            how = "was cancelled" if done else "did not answer session/cancel"
            self.say("cancel", done, f"The turn {how} ({human(time.monotonic() - began)}).")
        await self.close()
        await self.signal(signal.SIGTERM, "terminate")
        await self.done()

    async def _either(self, turn_over: asyncio.Event, seconds: float) -> bool:
        """Whether the turn ended. An agent that goes away altogether need not be waited for."""
        over = asyncio.ensure_future(turn_over.wait())
        gone = asyncio.ensure_future(self._agent.peer.gone.wait())
        try:
            await asyncio.wait({over, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            gone.cancel()
        return turn_over.is_set()
