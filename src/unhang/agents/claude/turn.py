"""Drives one headless Claude to the end of its task, tells the keeper about it, and prints the result.

A `result` ends a turn; the task has ended when no agent works on in the background, whose end would begin another turn.
Commands in the background are not waited for longer than `linger`: Claude itself would stay for ten minutes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from unhang.agents.base.driver import Driver
from unhang.agents.base.jsonrpc import Gone, Message, Recorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain, show
from unhang.agents.base.update import StallReason
from unhang.agents.claude.child import ClaudeChild
from unhang.agents.claude.plan import ClaudePlan
from unhang.agents.claude.protocol.errors import suggestions
from unhang.agents.claude.protocol.stream import Claude, ClaudeTurnEnd
from unhang.agents.claude.protocol.tool_limits import BASH_DEFAULT, BASH_MOST
from unhang.agents.claude.protocol.tools import ClaudeTools
from unhang.agents.claude.shutdown import ClaudeShutdown
from unhang.core.policy.model import Policy
from unhang.errors import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND

# One that has nothing to do ends in milliseconds.
_CLOSING = 5.0
# The end of an agent in the background is told a moment before the turn that it begins.
_SETTLING = 1.0


class ClaudeDriver(Driver):
    def __init__(self, plan: ClaudePlan, channel: KeeperChannel, policy: Policy) -> None:
        del policy  # Claude itself limits its commands
        super().__init__(channel, plan.stall)
        self._plan = plan
        limits = (
            _milliseconds("BASH_DEFAULT_TIMEOUT_MS", BASH_DEFAULT),
            _milliseconds("BASH_MAX_TIMEOUT_MS", BASH_MOST),
        )
        self._claude = Claude(flight=ClaudeTools(plan.tool_limit, bash_default=limits[0], bash_most=limits[1]))
        self._recorder = Recorder(plan.record)
        self._child: ClaudeChild | None = None
        self._turn_over = asyncio.Event()
        self._news = asyncio.Event()  # a line has come

    # --- the whole ------------------------------------------------------------------------------------------

    async def _finished(self, work: asyncio.Future[int]) -> int:
        try:
            return work.result()
        except Gone:
            return self._failed(f"Claude ended without a result ({await self._how_it_went()})")
        except FileNotFoundError:
            hint = "install it (npm install -g @anthropic-ai/claude-code) or give --claude"
            return self._failed(f"there is no {self._plan.claude!r}: {hint}", EXIT_NOT_FOUND)
        except OSError as error:
            return self._failed(f"cannot start {self._plan.claude!r}: {error.strerror}", EXIT_NOT_EXECUTABLE)

    async def _how_it_went(self) -> str:
        if self._child is None:
            return "it was not started"
        await self._child.wait_exit(_CLOSING)  # its output ends a moment before it does
        return self._child.how

    async def _stopped(self) -> None:
        now = time.monotonic()
        why = self._stall_reason(now)
        self._tell_why("stopping", f"Asked to stop: {why.reason}.", why, now, suggestions=why.suggestions or None)
        complain(why.reason)
        await self._give_up()  # it would leave in its own way at the end of the turn
        if self._child is not None:
            await ClaudeShutdown(self._child, self._claude, self._channel, self._turn_over, self._plan.grace).run()

    def _stall_reason(self, now: float) -> StallReason:
        if self._claude.phase == "starting":
            return StallReason("unknown", "Claude Code has not started: it has said nothing yet", [])
        return self._claude.stall_reason(now)

    def _tell_why(self, phase: str, text: str, why: StallReason, now: float, **fields: Any) -> None:
        tools = self._claude.tools.ages(now) or None
        fields |= {"cause": why.reason, "diagnosis": why.diagnosis(), "sessionId": self._claude.session or None}
        self._channel.tell(phase, text, tools=tools, **fields)

    def _silent(self, now: float) -> float:
        return self._claude.silent(now) if self._claude.tools.window is None else 0.0

    def _stuck(self, now: float) -> None:
        why = self._stall_reason(now)
        self._tell_why("stuck", f"{why.reason[0].upper()}{why.reason[1:]}.", why, now)

    def _close(self) -> None:
        self._recorder.close()

    def _failed(self, text: str, code: int = 1) -> int:
        session = self._claude.session or self._plan.session
        self._channel.tell("failed", text, error={"message": text}, sessionId=session)
        complain(text)
        return code

    # --- what it hears --------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        for said in self._claude.hear(message, time.monotonic()):
            self._channel.say(said)
        if message.get("type") == "control_request" and self._child is not None:
            self._child.refuse(message)
        if self._claude.turn:
            self._turn_over.clear()
        else:
            self._turn_over.set()
        self._news.set()

    # --- what it does ---------------------------------------------------------------------------------------

    async def _work(self) -> int:
        self._claude.begin(time.monotonic())
        self._child = child = await ClaudeChild.start(self._plan.to_argv(), self._hear, self._recorder, self._trouble)
        child.task(self._plan.task)
        await self._until(lambda: self._claude.ended is not None and not self._claude.turn)
        await self._until_at_rest()
        await self._leave(child)
        ended = self._claude.ended
        if ended is None or self._claude.turn:
            raise Gone("Claude ended without a result")
        return self._ended(ended)

    async def _until(self, reached: Callable[[], bool], seconds: float | None = None) -> bool:
        """False: not within that time, or Claude is gone."""
        assert self._child is not None
        gone = asyncio.ensure_future(self._child.gone.wait())
        try:
            async with asyncio.timeout(seconds):
                while not reached() and not self._child.gone.is_set():
                    self._news.clear()
                    news = asyncio.ensure_future(self._news.wait())
                    try:
                        await asyncio.wait({news, gone}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        news.cancel()
        except TimeoutError:
            pass
        finally:
            gone.cancel()
        return reached()

    async def _until_at_rest(self) -> None:
        claude = self._claude
        while not (self._child is None or self._child.gone.is_set()):
            if claude.turn:
                await self._until(lambda: not claude.turn)
            elif claude.agents:
                text = f"Waits for what works in the background: {_listed(claude)}"
                self._channel.tell("running", text, sessionId=claude.session or None)
                await self._until(lambda: claude.turn or not claude.agents)
                await self._until(lambda: claude.turn, _SETTLING)
            elif claude.background:
                if not await self._until(lambda: claude.turn or not claude.background, self._plan.linger):
                    return
                await self._until(lambda: claude.turn, _SETTLING)
            else:
                return

    async def _leave(self, child: ClaudeChild) -> None:
        """After the last turn: what it left running in the background ends with it."""
        names = list(self._claude.background.values())
        if names:
            text = f"Ended with the task: {_listed(self._claude)}"
            self._channel.tell("warning", text, leftovers=names[:10], sessionId=self._claude.session or None)
        child.close_input()
        if names or not await self._exits(child):
            child.signal(signal.SIGTERM)
            await child.wait_exit(_CLOSING)
        if child.exited:
            await child.done()

    async def _exits(self, child: ClaudeChild) -> bool:
        """By itself; another turn that begins even now is waited for."""
        while not await child.wait_exit(_CLOSING):
            if not self._claude.turn:
                return False
            await self._until(lambda: not self._claude.turn)
        return True

    def _ended(self, ending: ClaudeTurnEnd) -> int:
        """The event has been said; here is what people and scripts read."""
        if not ending.is_error:
            if ending.text:
                show(ending.text)
            return 0
        if self._stop.is_set():
            return 1  # our own doing, and said already
        complain(f"the turn failed: {(ending.error or {}).get('message', 'no reason given')}")
        for hint in suggestions(ending.error, self._claude.session):
            complain(f"try: {hint}")
        return 1


def _listed(claude: Claude) -> str:
    return ", ".join(claude.background.values())[:500]


def _milliseconds(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    usable = text.isascii() and text.isdecimal() and len(text) < 12 and int(text) > 0
    return int(text) / 1000 if usable else default
