"""Requests of Codex's are answered by a policy that somebody chose: deny (the default), accept, or ask, and then deny.

None is ever left hanging: whoever is asked has so long, and silence is a no. Every request and its answer is an event.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.answers import AnswerReader
from unhang.agents.base.jsonrpc import Message
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.codex.plan import ACCEPT, ASK, CodexPlan
from unhang.agents.codex.protocol.requests import CodexRequest
from unhang.agents.codex.protocol.tools_in_flight import CodexTools
from unhang.core.durations import human

_YES = frozenset({"y", "yes", "accept", "approve", "ok"})
# Our own limit must not come before the end of the wait that we have announced.
_SLACK = 30.0
_MOST_OPEN = 100  # questions for one person


class Approvals:
    def __init__(
        self, plan: CodexPlan, channel: KeeperChannel, reply: Callable[[Message], None], tools: CodexTools, job: str
    ) -> None:
        self._plan = plan
        self._channel = channel
        self._reply = reply
        self._tools = tools
        self._job = job
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers = AnswerReader() if plan.approvals == ASK else None
        self._turnstile = asyncio.Lock()  # one question at a time: an answer names none

    def take(self, request: CodexRequest) -> None:
        if request.method == "currentTime/read":
            self._reply(jsonrpc_message.result(request.id, {"currentTimeAt": int(time.time())}))
        elif not request.approval or self._answers is None:
            self._answer(request, request.approval and self._plan.approvals == ACCEPT, "policy")
        elif len(self._tasks) >= _MOST_OPEN:
            self._answer(request, False, f"{_MOST_OPEN} questions are open already")
        else:
            task = asyncio.ensure_future(self._ask(request, self._answers))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _answer(self, request: CodexRequest, accept: bool, by: str) -> None:
        self._reply(request.answer(accept))
        decision = "accepted" if accept else "denied"
        phase = "running" if accept else "warning"
        text = f"{request.text}: {decision} ({by})"
        self._channel.heard(phase, text, method=request.method, request=request.text, decision=decision, by=by)

    async def _ask(self, request: CodexRequest, typed: AnswerReader) -> None:
        wait = self._plan.approval_wait
        async with self._turnstile:
            hint = f"Answer it: unhang send {self._job or 'JOB'} yes|no (denied in {human(wait)})"
            text = f"{request.text}. {hint}"
            self._channel.tell("needs_approval", text, alive=True, method=request.method, request=request.text)
            self._channel.window(wait + _SLACK)
            try:
                word = await typed.answer(wait)
            except TimeoutError:
                self._answer(request, False, f"nobody answered in {human(wait)}")
            else:
                self._answer(request, word.lower() in _YES, "answer")
            finally:
                self._channel.window(self._tools.window)  # what was asked for may run now, by its own limit

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._answers is not None:
            self._answers.close()
