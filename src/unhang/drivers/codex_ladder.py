"""Ending a Codex app server gently: each step is asked for, waited for, checked, and said.

    turn/interrupt → its background terminals → end of its input → SIGTERM      (then the keeper: SIGKILL, and a sweep)

All of it fits into the grace that the keeper gives before SIGKILL.
"""

from __future__ import annotations

import asyncio
import time

from unhang.agents.codex import Codex
from unhang.drivers.codex_server import Server
from unhang.drivers.rpc import Gone, RpcError
from unhang.drivers.voice import Voice

# Left for the keeper's own bookkeeping before its SIGKILL is due.
_MARGIN = 0.3
_AGAIN = 0.05


class Ladder:
    def __init__(self, server: Server, codex: Codex, voice: Voice, turn_over: asyncio.Event, grace: float) -> None:
        self._server = server
        self._codex = codex
        self._voice = voice
        self._turn_over = turn_over
        self._until = time.monotonic() + max(0.0, grace - min(_MARGIN, grace / 4))

    def _share(self, part: float) -> float:
        """Of the time that is left."""
        return max(0.0, self._until - time.monotonic()) * part

    def _say(self, step: str, done: bool, text: str) -> None:
        self._voice.tell("stopping", text, step=step, done=done)

    async def climb(self) -> None:
        if not self._server.exited and self._codex.thread:
            if self._codex.turn:
                await self._interrupt(self._codex.turn)
            await self._clean()
        await self.close()

    async def _interrupt(self, turn: str) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._share(0.4)):
                await self._server.peer.request("turn/interrupt", {"threadId": self._codex.thread, "turnId": turn})
                await self._turn_over.wait()
        except TimeoutError:
            self._say("interrupt", False, f"turn/interrupt: no answer in {time.monotonic() - began:.1f} s.")
        except (RpcError, Gone) as error:
            self._say("interrupt", False, f"turn/interrupt: {error}")
        else:
            self._say("interrupt", True, f"The turn was interrupted in {time.monotonic() - began:.1f} s.")

    async def _clean(self) -> None:
        """An interrupted turn leaves its shell commands running as background terminals."""
        left = 0
        try:
            async with asyncio.timeout(self._share(0.4)):
                await self._server.peer.request("thread/backgroundTerminals/clean", {"threadId": self._codex.thread})
                while left := await self._terminals():  # accepted is not done
                    await asyncio.sleep(_AGAIN)
        except TimeoutError:
            text = f"{left} background terminals are still there." if left else "Background terminals: no answer."
            self._say("clean", False, text)
        except (RpcError, Gone) as error:
            self._say("clean", False, f"Background terminals: {error}")
        else:
            self._say("clean", True, "Background terminals are ended.")

    async def _terminals(self) -> int:
        which = {"threadId": self._codex.thread}
        found = (await self._server.peer.request("thread/backgroundTerminals/list", which)).get("data")
        return len(found) if isinstance(found, list) else 0

    async def close(self) -> None:
        """End of input; then SIGTERM."""
        if not self._server.exited:
            began = time.monotonic()
            self._server.peer.close_input()
            done = await self._server.wait_exit(self._share(0.6))
            took = f"{time.monotonic() - began:.1f} s"
            self._say("close", done, f"The app server {'ended' if done else 'did not end'} at end of input ({took}).")
        if not self._server.exited:
            self._server.terminate()
            done = await self._server.wait_exit(self._share(1.0))
            self._say("terminate", done, f"The app server {'ended' if done else 'did not end'} after SIGTERM.")
        if self._server.exited:
            await self._server.done()
