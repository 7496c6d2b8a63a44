"""Ending an agent gently: each step is asked for, waited for, checked, and told.

All of it fits into the grace that the keeper gives before SIGKILL. Which steps there are is each agent's own.
"""

from __future__ import annotations

import signal
import time

from unhang.agents.base.child import Child
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.core.durations import human

# Left for the keeper's own bookkeeping before its SIGKILL is due.
_MARGIN = 0.3


class Shutdown:
    """The steps that all agents share. `name`: what people call the child, at the beginning of a sentence."""

    def __init__(self, name: str, child: Child, channel: KeeperChannel, grace: float) -> None:
        self._name = name
        self._child = child
        self._channel = channel
        self._until = time.monotonic() + max(0.0, grace - min(_MARGIN, grace / 4))

    def share(self, part: float) -> float:
        """Return a part of the seconds that are left."""
        return max(0.0, self._until - time.monotonic()) * part

    def tell(self, step: str, done: bool, text: str) -> None:
        """Record a step, and whether it had its effect."""
        self._channel.tell("stopping", text, step=step, done=done)

    async def close_input(self, part: float = 0.6) -> None:
        """End its input, and wait for its exit."""
        if self._child.exited:
            return
        began = time.monotonic()
        self._child.close_input()
        done = await self._child.wait_exit(self.share(part))
        took = human(time.monotonic() - began)
        self.tell("close", done, f"{self._name} {'ended' if done else 'did not end'} at the end of its input ({took}).")

    async def signal(self, number: signal.Signals, step: str, part: float = 1.0) -> None:
        """Send a signal, and wait for its exit."""
        if self._child.exited:
            return
        self._child.signal(number)
        done = await self._child.wait_exit(self.share(part))
        self.tell(step, done, f"{self._name} {'ended' if done else 'did not end'} after {number.name}.")

    async def done(self) -> None:
        """Close what is open to it, if it has exited."""
        if self._child.exited:
            await self._child.done()
