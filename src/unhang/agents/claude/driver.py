"""`python -m unhang.agents.claude.driver`: the leader of a headless Claude job.

It drives one headless Claude to the end of its task, tells the keeper about it, and prints the result.

A `result` ends a turn; the task has ended when no agent works on in the background, whose end would begin another turn.
Commands in the background are not waited for longer than `linger`: Claude itself would stay for ten minutes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable

from unhang.agents.base.child import DISMISSAL
from unhang.agents.base.driver import Driver, main
from unhang.agents.base.jsonrpc import Gone, Message, Recorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain, show
from unhang.agents.base.program import install_hint
from unhang.agents.base.update import UNSURE, StallReason
from unhang.agents.claude.child import ClaudeChild
from unhang.agents.claude.plan import INSTALL, ClaudePlan
from unhang.agents.claude.protocol.errors import suggestions
from unhang.agents.claude.protocol.stream import ClaudeStream, ClaudeTurnEnd
from unhang.agents.claude.protocol.tool_limits import BASH_DEFAULT, BASH_MOST
from unhang.agents.claude.protocol.tools import ClaudeTools
from unhang.agents.claude.shutdown import ClaudeShutdown
from unhang.core.policy.model import Policy

# The end of an agent in the background is told a moment before the turn that it begins.
_SETTLING = 1.0


class ClaudeDriver(Driver):
    """The driver of a headless Claude job."""

    def __init__(self, plan: ClaudePlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall, Recorder(plan.record))
        self._plan = plan
        tools = ClaudeTools(
            plan.tool_limit,
            policy=policy,
            bash_default=_milliseconds("BASH_DEFAULT_TIMEOUT_MS", BASH_DEFAULT),
            bash_most=_milliseconds("BASH_MAX_TIMEOUT_MS", BASH_MOST),
        )
        self._claude = ClaudeStream(flight=tools)
        self._child: ClaudeChild | None = None
        self._turn_over = asyncio.Event()
        self._news = asyncio.Event()  # a line has come

    # --- the whole ------------------------------------------------------------------------------------------

    async def _finish(self, work: asyncio.Future[int]) -> int:
        try:
            return work.result()
        except Gone:
            text = f"Claude ended without a result ({await self._how_it_went()})"
            return self._fail(text, sessionId=self._claude.session or self._plan.session)
        except OSError as error:
            return self._fail_to_start(
                self._plan.claude, error, install_hint(INSTALL, "claude"), sessionId=self._plan.session
            )

    async def _how_it_went(self) -> str:
        if self._child is None:
            return "it was not started"
        await self._child.wait_exit(DISMISSAL)  # its output ends a moment before it does
        return self._child.how

    async def _end_agent(self) -> None:
        now = time.monotonic()
        self._tell_stopping(self._stall_reason(now), **self._known(now))
        await self._give_up()  # it would leave in its own way at the end of the turn
        if self._child is not None:
            await ClaudeShutdown(self._child, self._claude, self._channel, self._turn_over, self._plan.grace).run()

    def _stall_reason(self, now: float) -> StallReason:
        if self._claude.phase == "starting":
            return StallReason("unknown", "Claude Code has not started: it has sent nothing yet", [], state=UNSURE)
        return self._claude.stall_reason(now)

    def _known(self, now: float) -> Message:
        return {"tools": self._claude.tools.ages(now) or None, "sessionId": self._claude.session or None}

    def _silence(self, now: float) -> float:
        return self._claude.silent(now) if self._claude.tools.window is None else 0.0

    # --- what it hears --------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        for update in self._claude.hear(message, time.monotonic()):
            self._channel.pass_on(update)
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
        self._child = child = await ClaudeChild.start(
            self._plan.to_argv(), self._recorder, self._hear, self._trouble, _complain
        )
        child.task(self._plan.task)
        await self._until(lambda: self._claude.ended is not None and not self._claude.turn)
        await self._until_at_rest()
        await self._leave(child)
        ended = self._claude.ended
        if ended is None or self._claude.turn:
            raise Gone("Claude ended without a result")
        return self._ended(ended)

    async def _until(self, reached: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait for a condition; False: it did not come within that time, or Claude is gone."""
        assert self._child is not None
        try:
            async with asyncio.timeout(seconds):
                while not reached() and not self._child.gone.is_set():
                    self._news.clear()
                    await self._child.either(self._news)
        except TimeoutError:
            pass
        return reached()

    async def _until_at_rest(self) -> None:
        claude = self._claude
        while not (self._child is None or self._child.gone.is_set()):
            if claude.turn:
                await self._until(lambda: not claude.turn)
            elif claude.agents:
                text = f"Waiting for agents in the background: {_listed(claude)}"
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
        """After the last turn: what runs in the background ends with it."""
        names = list(self._claude.background.values())
        if names:
            text = f"Ended with the task: {_listed(self._claude)}"
            self._channel.tell("warning", text, leftovers=names[:10], sessionId=self._claude.session or None)
        child.close_input()
        if names or not await self._exits(child):
            child.signal(signal.SIGTERM)
            await child.wait_exit(DISMISSAL)
        if child.exited:
            await child.done()

    async def _exits(self, child: ClaudeChild) -> bool:
        """Wait for its own exit; a turn that begins even now is waited for. False: it did not exit."""
        while not await child.wait_exit(DISMISSAL):
            if not self._claude.turn:
                return False
            await self._until(lambda: not self._claude.turn)
        return True

    def _ended(self, ending: ClaudeTurnEnd) -> int:
        """Print what people and scripts read; the event has been recorded. The exit code."""
        if not ending.is_error:
            if ending.text:
                show(ending.text)
            return 0
        if self._stop.is_set():
            return 1  # our own doing, which has been told
        complain(f"the turn failed: {(ending.error or {}).get('message', 'no reason given')}")
        for hint in suggestions(ending.error, self._claude.session):
            complain(f"try: {hint}")
        return 1


def _complain(line: str) -> None:
    complain(f"claude says: {line}")


def _listed(claude: ClaudeStream) -> str:
    return ", ".join(claude.background.values())[:500]


def _milliseconds(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    usable = text.isascii() and text.isdecimal() and len(text) < 12 and int(text) > 0
    return int(text) / 1000 if usable else default


if __name__ == "__main__":
    main(ClaudePlan, ClaudeDriver)
