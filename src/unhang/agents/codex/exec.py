"""Drives `codex exec --json`: one process a turn, no deltas.

While the model thinks it prints nothing, and its CPU and files look the same as when it hangs; only the bytes that come
in on its socket tell. So they are what counts as a sign of life here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

from unhang.agents.base.child import Child
from unhang.agents.base.driver import Driver
from unhang.agents.base.jsonrpc import Message, Recorder
from unhang.agents.base.keeper_channel import KeeperChannel, complain, show
from unhang.agents.base.program import install_hint
from unhang.agents.base.shutdown import Shutdown
from unhang.agents.base.update import StallReason
from unhang.agents.codex.plan import CodexPlan
from unhang.agents.codex.program import INSTALL
from unhang.agents.codex.protocol.exec_events import CodexExec
from unhang.core.policy.model import Policy
from unhang.procs.sampler.connections import connections

_LOOK = 1.0


class ExecDriver(Driver):
    """The driver of a job over `codex exec`."""

    def __init__(self, plan: CodexPlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall, Recorder(plan.record))
        self._plan = plan
        self._exec = CodexExec(tool_limit=plan.tool_limit, policy=policy, job=os.environ.get("UNHANG_JOB", ""))
        self._child: Child | None = None
        self._received: dict[str, int] = {}

    async def _work(self) -> int:
        # an open pipe for its input makes it wait for ever before it begins
        argv = to_argv(self._plan)
        self._exec.begin(time.monotonic())
        self._child = child = await Child.start(argv, self._recorder, self._hear, self._trouble, deaf=True)
        looks = asyncio.ensure_future(self._look(child.process.pid))
        try:
            await child.exit()
        finally:
            looks.cancel()
        await child.done()
        return self._ended(child.process.returncode)

    async def _finish(self, work: asyncio.Future[int]) -> int:
        try:
            return work.result()
        except OSError as error:
            return self._fail_to_start(self._plan.codex, error, install_hint(INSTALL, "codex"), **self._how_far())

    async def _end_agent(self) -> None:
        """SIGINT is the signal at which `exec` ends its tools and their children too; SIGTERM leaves them."""
        await self._give_up()
        now = time.monotonic()
        self._tell_stopping(self._stall_reason(now), **self._known(now))
        if self._child is not None:
            shutdown = Shutdown("codex exec", self._child, self._channel, self._plan.grace)
            await shutdown.signal(signal.SIGINT, "SIGINT", 0.6)
            await shutdown.signal(signal.SIGTERM, "SIGTERM")
            await shutdown.done()

    def _silence(self, now: float) -> float:
        return self._exec.silent(now) if self._exec.tools.window is None else 0.0

    def _stall_reason(self, now: float) -> StallReason:
        return self._exec.stall_reason(now)

    def _known(self, now: float) -> Message:
        del now
        return {"threadId": self._exec.thread or None}

    def _hear(self, message: Message) -> None:
        for update in self._exec.hear(message, time.monotonic()):
            self._channel.pass_on(update)

    async def _look(self, pid: int) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            if self._bytes_came(pid):
                self._channel.pass_on(self._exec.bytes_came(time.monotonic()))

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

    def _how_far(self) -> Message:
        """What the event of a failure says of the turn."""
        return {"turnStatus": "failed", "threadId": self._exec.thread or self._plan.thread}

    def _failed(self, text: str, code: int) -> int:
        return self._fail(text, code, **self._how_far())


def to_argv(plan: CodexPlan) -> list[str]:
    """Return Codex's own command line."""
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
