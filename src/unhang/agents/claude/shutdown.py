"""Ending a headless Claude gently:

    interrupt (a control request) → end of its input → SIGINT → SIGTERM      (then the keeper: SIGKILL, and a sweep)

The interruption ends its tools and their children, and Claude says so in a last `result`.
"""

from __future__ import annotations

import asyncio
import signal
import time

from unhang.agents.base.jsonrpc import Gone
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.shutdown import Shutdown
from unhang.agents.claude.child import ClaudeChild, ControlRefused
from unhang.agents.claude.protocol.stream import ClaudeStream
from unhang.core.durations import human


class ClaudeShutdown(Shutdown):
    """The steps for a headless Claude."""

    def __init__(
        self, child: ClaudeChild, claude: ClaudeStream, channel: KeeperChannel, turn_over: asyncio.Event, grace: float
    ) -> None:
        super().__init__("Claude", child, channel, grace)
        self._line = child
        self._claude = claude
        self._turn_over = turn_over

    async def run(self) -> None:
        """Take all steps."""
        if self._claude.turn and not self._line.exited:
            await self._interrupt()
        # with tasks in the background it would stay for minutes
        await self.close_input(0.1 if self._claude.background else 0.4)
        await self.signal(signal.SIGINT, "SIGINT", 0.5)
        await self.signal(signal.SIGTERM, "SIGTERM")
        await self.done()

    async def _interrupt(self) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.share(0.5)):
                await self._line.ask(subtype="interrupt")
                await self._turn_over.wait()
        except TimeoutError:
            self.tell("interrupt", False, f"The interruption had no effect in {human(time.monotonic() - began)}.")
        except (ControlRefused, Gone) as error:
            self.tell("interrupt", False, f"The interruption was not taken: {error}")
        else:
            ended = self._claude.ended
            done = ended is not None and ended.aborted
            how = ended.reason if ended is not None else "no result"
            self.tell("interrupt", done, f"The turn was interrupted in {human(time.monotonic() - began)} ({how}).")
