"""Ending a headless Claude gently: each step is asked for, waited for, checked, and said.

    interrupt (a control request) → end of its input → SIGINT → SIGTERM      (then the keeper: SIGKILL, and a sweep)

The interruption ends its tools and their children, and Claude says so in a last `result`. All of it fits into the
grace that the keeper gives before SIGKILL.
"""

from __future__ import annotations

import asyncio
import signal
import time

from unhang.agents.claude import Claude
from unhang.drivers.claude_child import Child, Refused
from unhang.drivers.rpc import Gone
from unhang.drivers.voice import Voice

# Left for the keeper's own bookkeeping before its SIGKILL is due.
_MARGIN = 0.3


class Ladder:
    def __init__(self, child: Child, claude: Claude, voice: Voice, turn_over: asyncio.Event, grace: float) -> None:
        self._child = child
        self._claude = claude
        self._voice = voice
        self._turn_over = turn_over
        self._until = time.monotonic() + max(0.0, grace - min(_MARGIN, grace / 4))

    def _share(self, part: float) -> float:
        """Of the time that is left."""
        return max(0.0, self._until - time.monotonic()) * part

    def _say(self, step: str, done: bool, text: str) -> None:
        self._voice.tell("stopping", text, step=step, done=done)

    async def climb(self) -> None:
        if self._claude.turn and not self._child.exited:
            await self._interrupt()
        if not self._child.exited:
            await self._close()
        for number, part in ((signal.SIGINT, 0.5), (signal.SIGTERM, 1.0)):
            if not self._child.exited:
                await self._signal(number, part)
        if self._child.exited:
            await self._child.done()

    async def _interrupt(self) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._share(0.5)):
                await self._child.ask(subtype="interrupt")
                await self._turn_over.wait()
        except TimeoutError:
            self._say("interrupt", False, f"The interruption had no effect in {time.monotonic() - began:.1f} s.")
        except (Refused, Gone) as error:
            self._say("interrupt", False, f"The interruption was not taken: {error}")
        else:
            ended = self._claude.ended
            done = ended is not None and ended.aborted
            how = ended.reason if ended is not None else "no result"
            self._say("interrupt", done, f"The turn was interrupted in {time.monotonic() - began:.1f} s ({how}).")

    async def _close(self) -> None:
        began = time.monotonic()
        self._child.close_input()
        # with tasks in the background it would stay for minutes
        done = await self._child.wait_exit(self._share(0.1 if self._claude.background else 0.4))
        took = f"{time.monotonic() - began:.1f} s"
        self._say("close", done, f"Claude {'ended' if done else 'did not end'} at the end of its input ({took}).")

    async def _signal(self, number: signal.Signals, part: float) -> None:
        self._child.signal(number)
        done = await self._child.wait_exit(self._share(part))
        self._say(number.name, done, f"Claude {'ended' if done else 'did not end'} after {number.name}.")
