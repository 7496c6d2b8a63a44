"""Questions of an agent's are answered by a policy that somebody chose: deny (the default), allow, or ask (then deny).

None is ever left hanging: whoever is asked has so long, and silence is a no; what is open when the turn is cancelled
is answered so. Every question and its answer is an event.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

from unhang.agents.acp.plan import AcpPlan
from unhang.agents.acp.protocol.requests import ALLOW, ASK, DENY, AcpRequest
from unhang.agents.acp.protocol.turn import AcpSession
from unhang.agents.base.answers import AnswerReader
from unhang.agents.base.jsonrpc import Message
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.update import AgentUpdate
from unhang.core.durations import human

_YES = frozenset({"y", "yes", "allow", "accept", "approve", "ok"})
_NO = frozenset({"n", "no", "deny", "reject", ""})
# Our own limit must not come before the end of the wait that we have announced.
_SLACK = 30.0
_MOST_OPEN = 100  # questions for one person


class Permissions:
    def __init__(
        self,
        plan: AcpPlan,
        channel: KeeperChannel,
        reply: Callable[[Message], None],
        session: AcpSession,
        say: Callable[[list[AgentUpdate]], None],
    ) -> None:
        self._plan = plan
        self._channel = channel
        self._reply = reply
        self._session = session
        self._say = say
        self._open: dict[asyncio.Task[None], AcpRequest] = {}
        self._answers = AnswerReader() if plan.permissions == ASK else None
        self._turnstile = asyncio.Lock()  # one question at a time: an answer names none
        self._closed = False

    def take(self, request: AcpRequest) -> None:
        if self._closed:
            self._reply(request.cancelled())
        elif self._answers is None:
            self._answer(request, self._plan.permissions, "policy")
        elif len(self._open) >= _MOST_OPEN:
            self._answer(request, DENY, f"{_MOST_OPEN} questions are open already")
        else:
            task = asyncio.ensure_future(self._ask(request, self._answers))
            self._open[task] = request
            task.add_done_callback(lambda done: self._open.pop(done, None))

    def _answer(self, request: AcpRequest, decision: str, by: str) -> None:
        reply, how = request.decided(decision)
        self._reply(reply)
        self._tell(request, how, by)
        tool = request.params.get("toolCall")
        self._say(self._session.permitted(tool, how == "allowed", time.monotonic()))

    def _tell(self, request: AcpRequest, how: str, by: str) -> None:
        phase = "running" if how == "allowed" else "warning"
        fields: Message = {"method": request.method, "request": request.text, "decision": how, "by": by}
        self._channel.heard(phase, f"{request.text}: {how} ({by})", sessionId=self._session.id or None, **fields)

    async def _ask(self, request: AcpRequest, typed: AnswerReader) -> None:
        wait = self._plan.permission_wait
        tool = request.params.get("toolCall")
        async with self._turnstile:
            job = os.environ.get("UNHANG_JOB", "") or "JOB"
            offered = ", ".join(f"{number} {option.name}" for number, option in enumerate(request.options, 1))
            hint = f"Answer it: unhang send {job} yes|no, or one of: {offered} (denied in {human(wait)})"
            self._say(self._session.asks(tool, wait + _SLACK, time.monotonic()))
            fields = {"method": request.method, "request": request.text, "options": [o.id for o in request.options]}
            self._channel.tell("needs_approval", f"{request.text}. {hint}", alive=True, **fields)
            try:
                word = await typed.answer(wait)
            except TimeoutError:
                self._answer(request, DENY, f"nobody answered in {human(wait)}")
                return
            known = ALLOW if word.lower() in _YES else DENY if word.lower() in _NO or not request.pick(word) else word
            self._answer(request, known, "answer")

    def cancel_all(self) -> None:
        """The turn is being cancelled: every open question is answered so, and every later one."""
        self._closed = True
        for task, request in list(self._open.items()):
            task.cancel()
            self._reply(request.cancelled())
            self._tell(request, "cancelled", "the turn is cancelled")
        self._open.clear()

    def close(self) -> None:
        for task in self._open:
            task.cancel()
        if self._answers is not None:
            self._answers.close()
