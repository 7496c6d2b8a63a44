"""The permissions that an ACP agent asks for, answered by the caller's policy: deny, allow, or ask (then deny).

What is open when the turn is cancelled is answered so, and every later question, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from unhang.agents.acp.plan import AcpPlan
from unhang.agents.acp.protocol.requests import ALLOW, AcpRequest
from unhang.agents.acp.protocol.turn import AcpSession
from unhang.agents.base.approvals import Approvals
from unhang.agents.base.jsonrpc import Message
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.update import AgentUpdate


class Permissions(Approvals[AcpRequest]):
    """Answers `session/request_permission`."""

    def __init__(
        self,
        plan: AcpPlan,
        channel: KeeperChannel,
        send: Callable[[Message], None],
        session: AcpSession,
        pass_on: Callable[[list[AgentUpdate]], None],
    ) -> None:
        super().__init__(channel, plan.permissions, ALLOW, plan.permission_wait)
        self._send = send
        self._session = session
        self._pass_on = pass_on
        self._cancelled = False

    def take(self, question: AcpRequest) -> None:
        """Answer a question, now or when a person has answered it."""
        if self._cancelled:
            self._send(question.cancelled())
        else:
            super().take(question)

    def _reply(self, question: AcpRequest, decision: str) -> str:
        reply, how = question.decided(decision)
        self._send(reply)
        tool = question.params.get("toolCall")
        self._pass_on(self._session.permitted(tool, how == "allowed", time.monotonic()))
        return how

    def _waits(self, question: AcpRequest, seconds: float) -> None:
        self._pass_on(self._session.asks(question.params.get("toolCall"), seconds, time.monotonic()))

    def _offered(self, question: AcpRequest) -> str:
        return ", ".join(f"{number} {option.name}" for number, option in enumerate(question.options, 1))

    def _decision(self, question: AcpRequest, word: str) -> str | None:
        return word if question.pick(word) else None

    def _fields(self, question: AcpRequest) -> dict[str, Any]:
        known = {"sessionId": self._session.id or None, "options": [option.id for option in question.options] or None}
        return known | {"title": self._session.tools.name_of(question.params.get("toolCall"))}

    def cancel_all(self) -> None:
        """Answer every open question, and every later one, as a cancelled turn wants it."""
        self._cancelled = True
        for task, question in list(self._open.items()):
            task.cancel()
            self._send(question.cancelled())
            self.tell(question, "cancelled", "the turn is cancelled")
        self._open.clear()
