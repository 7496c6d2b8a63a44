"""`python -m unhang.agents.acp.driver`: the leader of the job of an ACP agent.

It drives the agent through one task or several, tells the keeper about it, and prints what the agent writes. It does
not use the SDK's connection: its import costs a second of every job, its schema refuses what is newer than itself, its
spawner leaves stderr unread and knows one process only. Messages are plain objects here; the tests hold what we send
against the SDK's schema.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from unhang.agents.acp import catalogue
from unhang.agents.acp.approvals import Permissions
from unhang.agents.acp.files import Files
from unhang.agents.acp.handshake import HandshakeRefused, open_session
from unhang.agents.acp.plan import AcpPlan
from unhang.agents.acp.protocol import requests as asked
from unhang.agents.acp.protocol.cancel_guard import CancelGuard
from unhang.agents.acp.protocol.requests import request_of
from unhang.agents.acp.protocol.turn import AcpSession, AcpTurnEnd, TurnBudgets
from unhang.agents.acp.shutdown import AcpShutdown
from unhang.agents.base.child import DISMISSAL, START_PAUSE, STARTS, RpcChild
from unhang.agents.base.driver import Driver, main
from unhang.agents.base.jsonrpc import Gone, Message, RpcError, WireRecorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain, write_out
from unhang.agents.base.update import AgentUpdate, StallReason, preview
from unhang.core.durations import human
from unhang.core.policy.model import Policy
from unhang.procs import identity

_LAST_WORDS = 1.0
_NOISE = 5  # lines that are worth an event


class AcpDriver(Driver):
    """The driver of the job of an ACP agent."""

    def __init__(self, plan: AcpPlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall, WireRecorder(plan.record))
        self._plan = plan
        budgets = TurnBudgets(plan.startup, plan.first, plan.idle, plan.tool)
        self._began = time.monotonic() - _age()
        self._session = AcpSession(budgets, policy, self._began)
        self._guard = CancelGuard()
        self._child: RpcChild | None = None
        self._turn_over = asyncio.Event()
        self._files = Files(os.getcwd(), plan.fs)
        self._permissions = Permissions(plan, channel, self._reply, self._session, self._pass_on)
        self._noises = 0
        self._ends_in_newline = True

    # --- the whole ------------------------------------------------------------------------------------------

    async def _finish(self, work: asyncio.Future[int]) -> int:
        try:
            code = work.result()
        except RpcError as error:
            code = self._failed(f"{error.method}: {error.message}", method=error.method, error_code=error.code)
        except HandshakeRefused as error:
            code = self._failed(str(error))
        except Gone as error:
            code = self._failed(await self._how_it_went(str(error)))
        except OSError as error:
            hint = "see `unhang agent list`, or give --command"
            return self._fail_to_start(self._plan.argv[0], error, hint, sessionId=self._plan.session)
        if self._child is not None and not await self._child.dismiss():
            self._channel.tell("warning", f"The agent did not end at the end of its input in {human(DISMISSAL)}.")
        return code

    async def _end_agent(self) -> None:
        now = time.monotonic()
        why, budget = self._session.stall_reason(now), self._session.budget(now)
        limit = "none" if budget.limit is None else human(budget.limit)
        self._tell_stopping(why, f"{why.reason} ({budget.name} budget: {limit})", **self._known(now))
        if self._child is not None:
            await AcpShutdown(self._child, self._channel, self._plan.grace).run(self._cancel, self._turn_over)

    def _known(self, now: float) -> Message:
        return {"budget": self._session.budget(now).to_json(), "sessionId": self._session.id or None}

    def _cancel(self) -> bool:
        """Cancel the turn; False: none runs. Open questions are answered first: the agent may wait for an answer
        before it reads anything else."""
        self._permissions.cancel_all()
        if not self._guard.cancel(self._guard.running):
            return False
        self._reply({"method": "session/cancel", "params": {"sessionId": self._session.id}})
        return True

    def _silence(self, now: float) -> float:
        return self._session.silent(now)

    def _patience(self) -> float:
        limit = self._session.budget(time.monotonic()).limit
        return self._stall if limit is None else min(self._stall, limit / 2)

    def _stall_reason(self, now: float) -> StallReason:
        return self._session.stall_reason(now)

    def _close(self) -> None:
        self._end_line()
        self._permissions.close()
        super()._close()

    async def _how_it_went(self, text: str) -> str:
        if self._child is None or self._child.failure:
            return self._child.failure if self._child else text
        if not await self._child.wait_exit(_LAST_WORDS):
            return text
        return f"{self._session.name} ended while {_doing(self._session)} ({self._child.how})"

    def _failed(self, text: str, **fields: Any) -> int:
        self._end_line()
        return self._fail(text, sessionId=self._session.id or self._plan.session, **fields)

    # --- what it hears --------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        request = request_of(message)
        if request is not None:
            self._serve(request)
            return
        self._pass_on(self._session.hear(message, time.monotonic()))
        self._write(self._session.fresh())
        if self._guard.running is not None and not self._session.in_turn:
            self._turn_over.set()  # version 2: an update has ended the turn

    def _serve(self, request: asked.AcpRequest) -> None:
        match request.method:
            case asked.PERMISSION:
                self._permissions.take(request)
            case asked.READ | asked.WRITE:
                reply = self._files.serve(request)
                done = "error" not in reply
                how = "served" if done else f"refused: {reply['error']['message']}"
                self._reply(reply)
                self._channel.answered(
                    "running" if done else "warning", f"{request.text}: {how}", method=request.method
                )
            case _:
                self._reply(request.refusal())
                self._channel.answered("warning", f"{request.text}: not served", method=request.method)

    def _noise(self, line: str) -> None:
        self._noises += 1
        if self._noises <= _NOISE:
            self._channel.tell("warning", f"Not a message of the protocol on stdout: {preview(line)}")

    def _pass_on(self, updates: list[AgentUpdate]) -> None:
        for update in updates:
            self._channel.pass_on(update)

    def _reply(self, message: Message) -> None:
        if self._child is not None:
            self._child.peer.send(message)

    def _write(self, text: str) -> None:
        if text:
            self._ends_in_newline = text.endswith("\n")
            write_out(text)

    def _end_line(self) -> None:
        if not self._ends_in_newline:
            self._write("\n")

    # --- what it does ---------------------------------------------------------------------------------------

    async def _work(self) -> int:
        plan = self._plan
        self._pass_on(self._session.begin(self._began))
        agent = await self._open()
        self._session.adopt(self._session.id, time.monotonic())
        ended = AcpTurnEnd("")
        for task in plan.tasks:
            ended = await self._turn(agent, task)
            self._end_line()
            if ended.reason != "end_turn":
                break
        return self._code(ended)

    async def _open(self) -> RpcChild:
        """Start the agent and open a session; again where another one that begins at the same moment was in its way."""
        plan, recipe = self._plan, catalogue.find(self._plan.agent)
        for left in reversed(range(STARTS)):
            start = RpcChild.start(plan.argv, self._recorder, self._hear, self._trouble, self._noise)
            self._child = agent = await start
            try:
                await open_session(agent.peer, plan, self._session, self._channel)
                return agent
            except RpcError as error:
                in_use = recipe is not None and recipe.in_use and recipe.in_use in error.message
                if not in_use or not left:
                    raise
                await agent.dismiss()
                self._channel.tell("warning", f"{preview(error.message, 300)}. It is started again.")
                await asyncio.sleep(START_PAUSE)
        raise Gone("the agent could not be started")

    async def _turn(self, agent: RpcChild, task: str) -> AcpTurnEnd:
        number = agent.peer.reserve()
        if not self._guard.begin(number):
            raise HandshakeRefused("a session that was cancelled takes no further task")
        self._turn_over.clear()
        params: Message = {"sessionId": self._session.id, "prompt": [{"type": "text", "text": task}]}
        answer = agent.peer.ask(number, "session/prompt", params)
        self._pass_on(self._session.prompt(time.monotonic()))
        try:
            found = await answer
            result = found if isinstance(found, dict) else {}
            if self._session.in_turn and self._session.accepted_only(result):
                await self._ended_by_an_update(agent)
            elif self._session.in_turn:
                self._pass_on(self._session.answered(result, time.monotonic()))
        except RpcError as error:
            self._pass_on(self._session.failed(error.to_json(), time.monotonic()))
        self._guard.ended(number)
        self._turn_over.set()
        return self._session.ended or AcpTurnEnd("")

    async def _ended_by_an_update(self, agent: RpcChild) -> None:
        await agent.either(self._turn_over)
        if self._session.ended is None:
            raise Gone("the agent closed the line in the middle of a turn")

    def _code(self, ended: AcpTurnEnd) -> int:
        """Print what people and scripts read; the event has been recorded. The exit code."""
        if ended.reason == "end_turn":
            return 0
        if not self._stop.is_set():  # else it is our own doing, which has been told
            complain(f"the turn failed: {ended.error['message']}" if ended.error else f"the turn ended: {ended.reason}")
        return 1


def _age() -> float:
    """Seconds since our process was started: the keeper's clock has run since then."""
    start = identity.start_time(os.getpid())
    if start is None:
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(start) / os.sysconf("SC_CLK_TCK"))


def _doing(session: AcpSession) -> str:
    return session.doing if session.doing == "in a turn" else f"asked for {session.doing}"


if __name__ == "__main__":
    main(AcpPlan, AcpDriver)
