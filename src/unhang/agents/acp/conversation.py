"""Drives an ACP agent through one task or several, tells the keeper about it, and prints what it writes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

from unhang.agents.acp.approvals import Permissions
from unhang.agents.acp.child import Agent, RawRecorder
from unhang.agents.acp.files import Files
from unhang.agents.acp.handshake import HandshakeRefused, open_session
from unhang.agents.acp.plan import AcpPlan
from unhang.agents.acp.protocol import requests as asked
from unhang.agents.acp.protocol.cancel_guard import CancelGuard
from unhang.agents.acp.protocol.requests import request_of
from unhang.agents.acp.protocol.turn import AcpSession, AcpTurnEnd, TurnBudgets
from unhang.agents.acp.shutdown import AcpShutdown
from unhang.agents.base.driver import Driver
from unhang.agents.base.jsonrpc import Gone, Message, RpcError
from unhang.agents.base.keeper_channel import KeeperChannel, complain
from unhang.agents.base.update import AgentUpdate, one_line
from unhang.core.durations import human
from unhang.core.policy.model import Policy
from unhang.errors import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND
from unhang.procs import identity

# Most agents end in milliseconds at the end of their input; some first save what they know.
_CLOSING = 5.0
_LAST_WORDS = 1.0
_NOISE = 5  # lines that are worth an event


class AcpDriver(Driver):
    def __init__(self, plan: AcpPlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall)
        self._plan = plan
        budgets = TurnBudgets(plan.startup, plan.first, plan.idle, plan.tool)
        self._began = time.monotonic() - _age()
        self._session = AcpSession(budgets, policy, self._began)
        self._guard = CancelGuard()
        self._recorder = RawRecorder(plan.record)
        self._agent: Agent | None = None
        self._turn_over = asyncio.Event()
        self._files = Files(os.getcwd(), plan.fs)
        self._permissions = Permissions(plan, channel, self._reply, self._session, self._say)
        self._noises = 0
        self._ends_in_newline = True

    # --- the whole ------------------------------------------------------------------------------------------

    async def _finished(self, work: asyncio.Future[int]) -> int:
        try:
            code = work.result()
        except RpcError as error:
            code = self._failed(f"{error.method}: {error.message}", method=error.method, code=error.code)
        except HandshakeRefused as error:
            code = self._failed(str(error))
        except Gone as error:
            code = self._failed(await self._how_it_went(str(error)))
        except FileNotFoundError:
            self._failed(f"there is no {self._plan.argv[0]!r}: see `unhang agent list`, or give --command")
            return EXIT_NOT_FOUND
        except OSError as error:
            self._failed(f"cannot start {self._plan.argv[0]!r}: {error.strerror}")
            return EXIT_NOT_EXECUTABLE
        if self._agent is not None:
            await self._leave(self._agent)
        return code

    async def _stopped(self) -> None:
        now = time.monotonic()
        why, budget = self._session.stall_reason(now), self._session.budget(now)
        fields: Message = {"cause": why.reason, "diagnosis": why.diagnosis(), "budget": budget.to_json()}
        fields |= {"sessionId": self._session.id or None, "suggestions": why.suggestions or None}
        limit = "none" if budget.limit is None else human(budget.limit)
        self._channel.tell("stopping", f"Asked to stop: {why.reason} ({budget.name} budget: {limit}).", **fields)
        complain(why.reason)
        if self._agent is not None:
            await AcpShutdown(self._agent, self._channel, self._plan.grace).run(self._cancel, self._turn_over)

    def _cancel(self) -> bool:
        """Open questions are answered first: an agent may wait for one before it looks at anything else."""
        self._permissions.cancel_all()
        if not self._guard.cancel(self._guard.running):
            return False
        self._reply({"method": "session/cancel", "params": {"sessionId": self._session.id}})
        return True

    def _silent(self, now: float) -> float:
        return self._session.silent(now)

    def _stuck(self, now: float) -> None:
        why = self._session.stall_reason(now)
        fields: Message = {"cause": why.reason, "diagnosis": why.diagnosis()}
        fields |= {"budget": self._session.budget(now).to_json(), "sessionId": self._session.id or None}
        self._channel.tell("stuck", f"{why.reason[0].upper()}{why.reason[1:]}.", **fields)

    def _close(self) -> None:
        self._end_line()
        self._permissions.close()
        self._recorder.close()

    async def _leave(self, agent: Agent) -> None:
        """At the end of the last turn: what it left running ends with the job."""
        if not agent.exited:
            agent.close_input()
        if not await agent.wait_exit(_CLOSING):
            self._channel.tell("warning", f"The agent did not end at the end of its input in {human(_CLOSING)}.")
            agent.signal(signal.SIGTERM)
            await agent.wait_exit(_CLOSING)
        if agent.exited:
            await agent.done()

    async def _how_it_went(self, text: str) -> str:
        if self._agent is None or self._agent.failure:
            return self._agent.failure if self._agent else text
        if not await self._agent.wait_exit(_LAST_WORDS):
            return text
        return f"{self._session.name} ended while {_doing(self._session)} ({self._agent.how})"

    def _failed(self, text: str, **fields: Any) -> int:
        error = {"message": text} | {name: fields.pop(name) for name in ("code",) if fields.get(name) is not None}
        session = self._session.id or self._plan.session
        self._channel.tell("failed", text, error=error, sessionId=session, **fields)
        self._end_line()
        complain(text)
        return 1

    # --- what it hears --------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        request = request_of(message)
        if request is not None:
            self._serve(request)
            return
        self._say(self._session.hear(message, time.monotonic()))
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
                self._channel.heard("running" if done else "warning", f"{request.text}: {how}", method=request.method)
            case _:
                self._reply(request.refusal())
                self._channel.heard("warning", f"{request.text}: not served", method=request.method)

    def _noise(self, line: str) -> None:
        self._noises += 1
        if self._noises <= _NOISE:
            self._channel.tell("warning", f"No message of the protocol on its stdout: {one_line(line)}")

    def _say(self, found: list[AgentUpdate]) -> None:
        for said in found:
            self._channel.say(said)

    def _reply(self, message: Message) -> None:
        if self._agent is not None:
            self._agent.peer.send(message)

    def _write(self, text: str) -> None:
        """To our stdout, at once: what was written stays, however this ends."""
        if not text:
            return
        self._ends_in_newline = text.endswith("\n")
        view = memoryview(text.encode("utf-8", "replace"))
        try:
            while view:
                view = view[os.write(1, view) :]
        except OSError:
            pass  # nobody reads it

    def _end_line(self) -> None:
        if not self._ends_in_newline:
            self._write("\n")

    # --- what it does ---------------------------------------------------------------------------------------

    async def _work(self) -> int:
        plan = self._plan
        self._say(self._session.begin(self._began))
        self._agent = agent = await Agent.start(plan.argv, self._hear, self._recorder, self._trouble, self._noise)
        await open_session(agent.peer, plan, self._session, self._channel)
        self._session.adopt(self._session.id, time.monotonic())
        ended = AcpTurnEnd("")
        for task in plan.tasks:
            ended = await self._turn(agent, task)
            self._end_line()
            if ended.reason != "end_turn":
                break
        return self._code(ended)

    async def _turn(self, agent: Agent, task: str) -> AcpTurnEnd:
        number = agent.peer.reserve()
        if not self._guard.begin(number):
            raise HandshakeRefused("a session that was cancelled takes no further task")
        self._turn_over.clear()
        params: Message = {"sessionId": self._session.id, "prompt": [{"type": "text", "text": task}]}
        answer = agent.peer.ask(number, "session/prompt", params)
        self._say(self._session.prompt(time.monotonic()))
        try:
            found = await answer
            result = found if isinstance(found, dict) else {}
            if self._session.in_turn and self._session.accepted_only(result):
                await self._ended_by_an_update(agent)
            elif self._session.in_turn:
                self._say(self._session.answered(result, time.monotonic()))
        except RpcError as error:
            self._say(self._session.failed(error.to_json(), time.monotonic()))
        self._guard.ended(number)
        self._turn_over.set()
        return self._session.ended or AcpTurnEnd("")

    async def _ended_by_an_update(self, agent: Agent) -> None:
        over = asyncio.ensure_future(self._turn_over.wait())
        gone = asyncio.ensure_future(agent.peer.gone.wait())
        try:
            await asyncio.wait({over, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            gone.cancel()
        if self._session.ended is None:
            raise Gone("the agent closed the line in the middle of a turn")

    def _code(self, ended: AcpTurnEnd) -> int:
        """The event has been said; here is what people and scripts read."""
        if ended.reason == "end_turn":
            return 0
        if not self._stop.is_set():  # else it is our own doing, and said already
            complain(f"the turn failed: {ended.error['message']}" if ended.error else f"the turn ended: {ended.reason}")
        return 1


def _age() -> float:
    """Seconds since our process was started: the keeper's clock has run from there on."""
    start = identity.start_time(os.getpid())
    if start is None:
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(start) / os.sysconf("SC_CLK_TCK"))


def _doing(session: AcpSession) -> str:
    return session.doing if session.doing == "in a turn" else f"asked for {session.doing}"
