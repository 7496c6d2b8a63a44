"""The requests of Codex: approvals by the caller's policy, everything else by its own no."""

from __future__ import annotations

import time
from collections.abc import Callable

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.approvals import DENY, Approvals
from unhang.agents.base.jsonrpc import Message
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.codex.plan import ACCEPT, CodexPlan
from unhang.agents.codex.protocol.requests import CodexRequest
from unhang.agents.codex.protocol.tools_in_flight import CodexTools
from unhang.core.values import id_of
from unhang.core.watchdog.facts import PERSON


class CodexApprovals(Approvals[CodexRequest]):
    """Answers what Codex asks of its client."""

    def __init__(
        self, plan: CodexPlan, channel: KeeperChannel, send: Callable[[Message], None], tools: CodexTools
    ) -> None:
        super().__init__(channel, plan.approvals, ACCEPT, plan.approval_wait)
        self._send = send
        self._tools = tools

    def take(self, question: CodexRequest) -> None:
        """Answer a request, now or when a person has answered it."""
        if question.method == "currentTime/read":
            self._send(jsonrpc_message.result(question.id, {"currentTimeAt": int(time.time())}))
        elif question.approval:
            about = self._tools.about.get(id_of(question.fields, "itemId"), "")
            blind = about and not question.fields.get("command")
            super().take(question.replace(text=f"{question.text}: {about}") if blind else question)
        else:
            self.settle(question, DENY, "policy")

    def _reply(self, question: CodexRequest, decision: str) -> str:
        accept = decision == ACCEPT
        self._send(question.answer(accept))
        return "accepted" if accept else "denied"

    def _waits(self, question: CodexRequest, seconds: float) -> None:
        del question
        self._channel.window(seconds, PERSON)

    def _waited(self) -> None:
        self._channel.window(self._tools.window)  # what was asked for may run now, by its own limit
