"""Ending an ACP agent gently:

session/cancel → end of its input → SIGTERM      (then the keeper: SIGKILL, and a sweep)
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from unhang.agents.base.child import RpcChild
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.shutdown import Shutdown
from unhang.core.durations import human


class AcpShutdown(Shutdown):
    """The steps for an ACP agent."""

    def __init__(self, agent: RpcChild, channel: KeeperChannel, grace: float) -> None:
        super().__init__("The agent", agent, channel, grace)
        self._agent = agent

    async def run(self, cancel: Callable[[], bool], turn_over: asyncio.Event) -> None:
        """Take all steps. `cancel` sends session/cancel, if there is a turn that it could hit."""
        if not self._agent.exited and cancel():
            began = time.monotonic()
            done = await self._agent.either(turn_over, self.share(0.4))
            how = "was cancelled" if done else "did not answer session/cancel"
            self.tell("cancel", done, f"The turn {how} ({human(time.monotonic() - began)}).")
        await self.close_input()
        await self.signal(signal.SIGTERM, "terminate")
        await self.done()
