"""Ending an ACP agent gently: each step is asked for, waited for, checked, and said.

    session/cancel → end of its input → SIGTERM      (then the keeper: SIGKILL, and a sweep)

All of it fits into the grace that the keeper gives before SIGKILL.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from unhang.drivers.acp_wire import Agent
from unhang.drivers.voice import Voice

# Left for the keeper's own bookkeeping before its SIGKILL is due.
_MARGIN = 0.3


class Ladder:
    def __init__(self, agent: Agent, voice: Voice, grace: float) -> None:
        self._agent = agent
        self._voice = voice
        self._until = time.monotonic() + max(0.0, grace - min(_MARGIN, grace / 4))

    def _share(self, part: float) -> float:
        """Of the time that is left."""
        return max(0.0, self._until - time.monotonic()) * part

    def _say(self, step: str, done: bool, text: str) -> None:
        self._voice.tell("stopping", text, step=step, done=done)

    async def climb(self, cancel: Callable[[], bool], turn_over: asyncio.Event) -> None:
        """`cancel` sends it, if there is a turn that it could hit."""
        if not self._agent.exited and cancel():
            began = time.monotonic()
            done = await self._either(turn_over, self._share(0.4))
            took = f"{time.monotonic() - began:.1f} s"
            self._say(
                "cancel", done, f"The turn {'was cancelled' if done else 'did not answer session/cancel'} ({took})."
            )
        await self.close()

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

    async def close(self) -> None:
        """End of input; then SIGTERM."""
        agent = self._agent
        if not agent.exited:
            began = time.monotonic()
            agent.peer.close_input()
            done = await agent.wait_exit(self._share(0.6))
            took = f"{time.monotonic() - began:.1f} s"
            self._say("close", done, f"The agent {'ended' if done else 'did not end'} at end of input ({took}).")
        if not agent.exited:
            agent.terminate()
            done = await agent.wait_exit(self._share(1.0))
            self._say("terminate", done, f"The agent {'ended' if done else 'did not end'} after SIGTERM.")
        if agent.exited:
            await agent.done()
