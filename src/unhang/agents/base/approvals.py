"""Questions of an agent, answered by a policy that the caller chose: no, yes, or ask a person (and then no).

None stays unanswered: if no person answers in time, the answer is no. Every question and its answer is an event.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from unhang.agents.base.answers import AnswerReader
from unhang.agents.base.keeper_channel import KeeperChannel
from unhang.agents.base.update import preview
from unhang.core.attention import OR_ONE_OF, YES_OR_NO
from unhang.core.durations import human
from unhang.core.plain_text import visible

DENY, ASK = "deny", "ask"
_YES = frozenset({"y", "yes", "allow", "accept", "approve", "ok"})
_NO = frozenset({"n", "no", "deny", "reject"})
# Our own limit must not come before the end of the wait that we have announced.
_SLACK = 30.0
_MOST_OPEN = 100  # questions for one person


class ApprovalQuestion(Protocol):
    """A question of an agent for permission, with what every protocol has of it."""

    @property
    def method(self) -> str:
        """Return the method of its protocol."""

    @property
    def text(self) -> str:
        """Return the question in words."""


Q = TypeVar("Q", bound=ApprovalQuestion)


def _asked(question: ApprovalQuestion) -> str:
    """The question with nothing left out: what shows it would drop an escape sequence, and the shell would run it."""
    return visible(question.text)


class Approvals(ABC, Generic[Q]):
    """`policy`: DENY, ASK, or the agent's own word for yes, which is also what a person's yes becomes."""

    def __init__(self, channel: KeeperChannel, policy: str, yes: str, wait: float) -> None:
        self._channel = channel
        self._policy = policy
        self._yes = yes
        self._wait = wait
        self._open: dict[asyncio.Task[None], Q] = {}
        self._answers = AnswerReader() if policy == ASK else None
        self._turnstile = asyncio.Lock()  # one question at a time: an answer names none

    @abstractmethod
    def _reply(self, question: Q, decision: str) -> str:
        """Send the answer; what it was, in one word: accepted, allowed, denied, cancelled."""

    @abstractmethod
    def _waits(self, question: Q, seconds: float) -> None:
        """A person is asked, and has so much time."""

    def _waited(self) -> None:
        """The question has been answered."""

    def _offered(self, question: Q) -> str:
        """What else than yes and no may be answered, in words."""
        del question
        return ""

    def _decision(self, question: Q, word: str) -> str | None:
        """What a person's answer that is neither yes nor no means; None: nothing that was offered."""
        del question, word
        return None

    def _fields(self, question: Q) -> dict[str, Any]:
        """What the events of a question carry besides it."""
        del question
        return {}

    def take(self, question: Q) -> None:
        """Answer a question, now or when a person has answered it."""
        if self._answers is None:
            self.settle(question, self._policy, "policy")
        elif len(self._open) >= _MOST_OPEN:
            self.settle(question, DENY, f"{_MOST_OPEN} questions are open already")
        else:
            task = asyncio.ensure_future(self._ask(question, self._answers))
            self._open[task] = question
            task.add_done_callback(lambda done: self._open.pop(done, None))

    def settle(self, question: Q, decision: str, by: str) -> None:
        """Answer a question, and record who decided."""
        self.tell(question, self._reply(question, decision), by)

    def tell(self, question: Q, how: str, by: str) -> None:
        """Record how a question was answered."""
        goes_on = how in ("accepted", "allowed")
        phase = "running" if goes_on else "warning"
        asked = _asked(question)
        known = {"method": question.method, "request": asked, "decision": how, "by": by}
        self._channel.answered(phase, f"{asked}: {how} ({by})", alive=goes_on, **known, **self._fields(question))

    async def _ask(self, question: Q, answers: AnswerReader) -> None:
        async with self._turnstile:
            job = os.environ.get("UNHANG_JOB", "") or "JOB"
            offered = self._offered(question)
            also = f"{OR_ONE_OF}{offered}" if offered else ""
            words = f"{YES_OR_NO}{also}"
            asked = _asked(question)
            known = {"method": question.method, "request": asked, "answers": words} | self._fields(question)
            until, odd = time.monotonic() + self._wait, ""
            self._waits(question, self._wait + _SLACK)
            try:
                while True:
                    left = max(0.0, until - time.monotonic())
                    # not `yes|no`: pasted into a shell, that would be a yes
                    how = f"unhang send {job} yes (or no{also}; denied in {human(left)})"
                    text = f"{odd}{asked}. Answer it: {how}"
                    self._channel.tell("needs_approval", text, alive=not odd, **known)
                    word = await answers.next_answer(left)
                    decision = self._read(question, word)
                    if decision is not None:
                        self.settle(question, decision, "answer")
                        return
                    odd = f"Not understood: {preview(word, 80)!r}. "
            except TimeoutError:
                self.settle(question, DENY, f"no answer in {human(self._wait)}")
            finally:
                self._waited()

    def _read(self, question: Q, word: str) -> str | None:
        """The decision that an answer means; None: it is not understood, and no answer."""
        lowered = word.lower()
        if lowered in _YES:
            return self._yes
        return DENY if lowered in _NO else self._decision(question, word)

    def close(self) -> None:
        """Take no answers any more."""
        for task in self._open:
            task.cancel()
        if self._answers is not None:
            self._answers.close()
