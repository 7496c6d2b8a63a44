"""Drives `codex exec --json`: one process a turn, no deltas.

While the model thinks it prints nothing, and its CPU and files look the same as when it hangs; only the bytes that come
in on its socket tell. So they are what counts as a sign of life here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable

from unhang.agents.base.child import Child, Line, started
from unhang.agents.base.driver import Driver
from unhang.agents.base.jsonrpc import Message, Recorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain, show
from unhang.agents.base.shutdown import Shutdown
from unhang.agents.codex.plan import CodexPlan
from unhang.agents.codex.protocol.exec_events import Exec
from unhang.core.policy.model import Policy
from unhang.errors import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND
from unhang.procs.sampler.connections import connections

_LOOK = 1.0


class ExecChild(Child):
    def __init__(
        self,
        line: Line,
        heard: Callable[[Message], None],
        recorder: Recorder,
        trouble: Callable[[str, str], None],
    ) -> None:
        self._heard = heard
        super().__init__(line, recorder, trouble)

    def _take(self, message: Message) -> None:
        self._heard(message)

    def _print(self, text: str) -> None:
        pass

    def _leave(self, why: str) -> None:
        pass  # nobody waits for an answer


class ExecDriver(Driver):
    def __init__(self, plan: CodexPlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall)
        self._plan = plan
        self._exec = Exec(tool_limit=plan.tool_limit, policy=policy, job=os.environ.get("UNHANG_JOB", ""))
        self._recorder = Recorder(plan.record)
        self._child: ExecChild | None = None
        self._received: dict[str, int] = {}

    async def _work(self) -> int:
        # an open pipe for its input makes it wait for ever before it begins
        line = await started(command(self._plan), deaf=True)
        self._child = child = ExecChild(line, self._hear, self._recorder, self._trouble)
        looks = asyncio.ensure_future(self._look(child.process.pid))
        try:
            await child.exit()
        finally:
            looks.cancel()
        await child.done()
        return self._ended(child.process.returncode)

    async def _finished(self, work: asyncio.Future[int]) -> int:
        try:
            return work.result()
        except FileNotFoundError:
            return self._failed(f"there is no {self._plan.codex!r}", EXIT_NOT_FOUND)
        except OSError as error:
            return self._failed(f"cannot start {self._plan.codex!r}: {error.strerror}", EXIT_NOT_EXECUTABLE)

    async def _stopped(self) -> None:
        """SIGINT is the one that makes `exec` end its tools and their children too; SIGTERM leaves them."""
        await self._give_up()
        self._channel.stopping(self._exec.stall_reason(time.monotonic()), self._exec.thread)
        if self._child is not None:
            ladder = Shutdown("codex exec", self._child, self._channel, self._plan.grace)
            await ladder.signal(signal.SIGINT, "SIGINT", 0.6)
            await ladder.signal(signal.SIGTERM, "SIGTERM")
            await ladder.done()

    def _silent(self, now: float) -> float:
        del now
        return 0.0  # it is said at the end; the keeper says that it is silent

    def _stuck(self, now: float) -> None:
        pass

    def _close(self) -> None:
        self._recorder.close()

    def _hear(self, message: Message) -> None:
        for said in self._exec.hear(message, time.monotonic()):
            self._channel.say(said)

    async def _look(self, pid: int) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if self._bytes_came(pid):
                self._channel.say(self._exec.bytes_came(time.monotonic()))

    def _bytes_came(self, pid: int) -> bool:
        """On a connection that was there a look ago: a new one that is refused again and again is no progress."""
        now = {link: seen.received for link, seen in connections(pid).items() if seen.received is not None}
        grown = any(link in self._received and count > self._received[link] for link, count in now.items())
        self._received = now
        return grown

    def _ended(self, code: int) -> int:
        if self._exec.reply:
            show(self._exec.reply)
        asked = self._plan.thread
        if asked and self._exec.thread and self._exec.thread != asked:
            # a name that is no id starts a new thread without a word
            return self._failed(f"Codex opened another thread ({self._exec.thread}) than {asked}", 1)
        if code == 0 and self._exec.status == "completed":
            return 0
        if self._exec.status:
            complain(f"the turn {self._exec.status}: {self._exec.error}")
            return code or 1
        return self._failed(self._exec.error or f"codex exec ended without a turn (exit code {code})", code or 1)

    def _failed(self, text: str, code: int) -> int:
        thread = self._exec.thread or self._plan.thread
        self._channel.tell("failed", text, error={"message": text}, turnStatus="failed", threadId=thread)
        complain(text)
        return code


def command(plan: CodexPlan) -> list[str]:
    words = [plan.codex, "exec", "--json", "--skip-git-repo-check"]
    for name, value in (("--model", plan.model), ("--sandbox", plan.sandbox)):
        if value is not None:
            words += [name, value]
    if plan.effort is not None:
        words += ["-c", f"model_reasoning_effort={plan.effort}"]
    for entry in plan.config:
        words += ["-c", entry]
    if plan.thread:
        words += ["resume", plan.thread]
    return [*words, "--", plan.task]
