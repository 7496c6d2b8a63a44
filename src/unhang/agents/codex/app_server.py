"""Drives one turn, review or compaction over `codex app-server`, tells the keeper about it, and prints the reply."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from unhang.agents.base.child import DISMISSAL, START_PAUSE, STARTS
from unhang.agents.base.driver import Driver
from unhang.agents.base.jsonrpc import Gone, Message, Recorder, RpcError
from unhang.agents.base.keeper_channel import KeeperChannel, complain, show
from unhang.agents.base.program import install_hint
from unhang.agents.base.update import UNSURE, StallReason
from unhang.agents.codex.approvals import CodexApprovals
from unhang.agents.codex.plan import COMPACT, REVIEW, CodexPlan
from unhang.agents.codex.program import INSTALL
from unhang.agents.codex.protocol import hints
from unhang.agents.codex.protocol.requests import request_of
from unhang.agents.codex.protocol.thread import CodexThread, CodexTurnEnd
from unhang.agents.codex.server_process import AppServer
from unhang.agents.codex.shutdown import CodexShutdown
from unhang.core.policy.model import Policy
from unhang.core.values import id_of, text_of

# The exit code of one that found its database locked.
_LOCKED = 1


class AppServerDriver(Driver):
    """The driver of a job over `codex app-server`."""

    def __init__(self, plan: CodexPlan, channel: KeeperChannel, policy: Policy) -> None:
        super().__init__(channel, plan.stall, Recorder(plan.record))
        self._plan = plan
        self._job = os.environ.get("UNHANG_JOB", "")
        self._codex = CodexThread(tool_limit=plan.tool_limit, policy=policy, job=self._job)
        self._child: AppServer | None = None
        self._turn_over = asyncio.Event()
        self._before: int | None = None  # tokens in the context when the newest turn began
        self._doing, self._since = "starting Codex", time.monotonic()
        self._approvals = CodexApprovals(plan, channel, self._reply, self._codex.tools)

    # --- the whole ------------------------------------------------------------------------------------------

    async def _finish(self, work: asyncio.Future[int]) -> int:
        try:
            code = work.result()
        except RpcError as error:
            code = self._failed(error.message, method=error.method)
        except Gone as error:
            code = self._failed(await self._how_it_went(str(error)))
        except OSError as error:
            return self._fail_to_start(self._plan.codex, error, install_hint(INSTALL, "codex"), **self._how_far())
        if self._child is not None:
            await self._leave(self._child)
        return code

    async def _end_agent(self) -> None:
        self._tell_stopping(self._stall_reason(time.monotonic()), threadId=self._codex.thread or None)
        if self._child is not None:
            await CodexShutdown(self._child, self._codex, self._channel, self._turn_over, self._plan.grace).run()

    def _stall_reason(self, now: float) -> StallReason:
        if self._codex.turn:
            return self._codex.stall_reason(now)
        return StallReason("unknown", f"Codex has not answered; it was {self._doing}", [], state=UNSURE)

    def _silence(self, now: float) -> float:
        if not self._codex.turn:
            return 0.0 if self._turn_over.is_set() else now - self._since
        return self._codex.silent(now) if self._codex.tools.window is None and not self._codex.waiting else 0.0

    def _begin(self, doing: str) -> None:
        self._doing, self._since = doing, time.monotonic()

    def _known(self, now: float) -> Message:
        del now
        return {"threadId": self._codex.thread or None}

    def _close(self) -> None:
        self._approvals.close()
        super()._close()

    async def _leave(self, server: AppServer) -> None:
        """At the end of a turn: what runs in the background ends with the server."""
        names = list(self._codex.tools.names.values())
        if names:
            self._channel.tell("warning", f"Ended with the turn: {', '.join(names)[:500]}", leftovers=names[:10])
        await server.dismiss()

    async def _how_it_went(self, text: str) -> str:
        if self._child is None or not await self._child.wait_exit(DISMISSAL):
            return text
        return f"Codex's app server ended while {self._doing} ({self._child.how})"

    def _how_far(self) -> Message:
        """What the event of a failure says of the turn."""
        known: Message = {"turnStatus": "failed", "threadId": self._codex.thread or self._plan.thread}
        return known | ({"compacted": False} if self._plan.verb == COMPACT else {})

    def _failed(self, text: str, **fields: Any) -> int:
        return self._fail(text, **self._how_far(), **fields)

    # --- what it hears --------------------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        request = request_of(message)
        if request is not None:
            self._approvals.take(request)
            return
        before = self._codex.usage.occupied
        had = self._codex.turn
        for update in self._codex.hear(message, time.monotonic()):
            self._channel.pass_on(update)
        if self._codex.turn != had and self._codex.turn:
            self._before = before
            self._turn_over.clear()
        elif had and not self._codex.turn:
            self._turn_over.set()

    def _reply(self, message: Message) -> None:
        if self._child is not None:
            self._child.peer.send(message)

    # --- what it does ---------------------------------------------------------------------------------------

    async def _work(self) -> int:
        plan = self._plan
        server = await self._open()
        if plan.verb == COMPACT:
            return self._compacted(await self._compact(server))
        if plan.compact_first:
            turn = await self._compact(server)
            if not self._has_compacted(turn):
                return self._compacted(turn)
        return self._ended(await self._turn(server))

    async def _open(self) -> AppServer:
        """Start Codex and open a thread; again where its own database may have been in its way."""
        plan = self._plan
        argv = [plan.codex, "app-server", *(word for entry in plan.config for word in ("-c", entry))]
        for left in reversed(range(STARTS)):
            self._begin("starting Codex")
            self._child = server = await AppServer.start(argv, self._recorder, self._hear, self._trouble)
            try:
                self._begin("waiting for Codex to greet")
                await server.greet()
                version = server.version
                self._channel.tell("starting", f"Codex {version} is ready.", alive=True, codexVersion=version)
                await self._open_thread(server)
                return server
            except Gone as error:
                how = await self._how_it_went(str(error))
                if not left or server.process.returncode != _LOCKED:
                    raise
                self._channel.tell("warning", f"{how}. It is started again.")
                await asyncio.sleep(START_PAUSE)
        raise Gone("Codex could not be started")

    async def _open_thread(self, server: AppServer) -> None:
        plan = self._plan
        params: Message = {"cwd": os.getcwd(), "model": plan.model, "sandbox": plan.sandbox}
        params |= {"approvalPolicy": plan.ask_for_approval}
        params = {name: value for name, value in params.items() if value is not None}
        if plan.thread:
            self._begin(f"resuming the thread {plan.thread}")
            answer = await server.peer.request(
                "thread/resume", params | {"threadId": plan.thread, "excludeTurns": True}
            )
        else:
            self._begin("starting a thread")
            answer = await server.peer.request("thread/start", params)
        thread = id_of(answer, "thread", "id")
        self._codex.adopt(thread, time.monotonic())
        verb = "resumed" if plan.thread else "started"
        fields = {"threadId": thread, "model": text_of(answer, "model", most=120) or None}
        self._channel.tell("starting", f"The thread {thread} is {verb}.", alive=True, **fields)
        if plan.thread and thread != plan.thread:
            raise RpcError("thread/resume", {"message": f"Codex opened another thread ({thread}) than {plan.thread}"})

    async def _turn(self, server: AppServer) -> CodexTurnEnd:
        plan = self._plan
        self._begin("in a turn")
        self._turn_over.clear()
        if plan.verb == REVIEW:
            params: Message = {"threadId": self._codex.thread, "target": _target(plan)}
            await server.peer.request("review/start", params)
        else:
            params = {"threadId": self._codex.thread, "input": [{"type": "text", "text": plan.task}]}
            params |= {"effort": plan.effort} if plan.effort else {}
            await server.peer.request("turn/start", params)
        return await self._turn_end(server)

    async def _turn_end(self, server: AppServer) -> CodexTurnEnd:
        await server.either(self._turn_over)
        if self._codex.ended is None:
            raise Gone("Codex closed the line in the middle of a turn")
        return self._codex.ended

    def _ended(self, turn: CodexTurnEnd) -> int:
        """Print what people and scripts read; the event has been recorded. The exit code."""
        if self._codex.reply:
            show(self._codex.reply)
        if turn.status == "completed":
            return 0
        if self._stop.is_set():
            return 1  # our own doing, and said already
        how = "failed" if turn.status == "failed" else f"was {turn.status}"
        complain(f"the turn {how}: {(turn.error or {}).get('message', 'no reason given')}")
        names = hints.after_error(text_of(turn.error, "info"), self._codex.thread)
        for hint in hints.sentences(names, hints.command_line(self._job, self._codex.thread)):
            complain(f"try: {hint}")
        return 1

    # --- compaction -----------------------------------------------------------------------------------------

    async def _compact(self, server: AppServer) -> CodexTurnEnd:
        """Accepted is not done: it is a turn of its own, and its end says how it went."""
        self._begin("compacting")
        self._turn_over.clear()
        self._codex.compacted = 0
        await server.peer.request("thread/compact/start", {"threadId": self._codex.thread})
        self._channel.tell("compacting", "Codex accepted the compaction.", threadId=self._codex.thread)
        return await self._turn_end(server)

    def _has_compacted(self, turn: CodexTurnEnd) -> bool:
        return turn.status == "completed" and self._codex.compacted > 0

    def _compacted(self, turn: CodexTurnEnd) -> int:
        before, after = self._before, self._codex.usage.occupied
        if not self._has_compacted(turn):
            reason = (turn.error or {}).get("message") or f"the turn is {turn.status}, but nothing was compacted"
            return self._failed(f"the compaction failed: {reason}")
        text = f"The context was compacted: {_tokens(before)} → {_tokens(after)} tokens."
        fields = {"compacted": True, "tokensBefore": before, "tokensAfter": after, "turnStatus": turn.status}
        self._channel.tell("completed", text, alive=True, threadId=self._codex.thread, **fields)
        print(text, flush=True)
        return 0


def _tokens(count: int | None) -> str:
    return "?" if count is None else str(count)


def _target(plan: CodexPlan) -> Message:
    kind, _, value = plan.target.partition(":")
    match kind:
        case "base":
            return {"type": "baseBranch", "branch": value}
        case "commit":
            return {"type": "commit", "sha": value}
        case "custom":
            return {"type": "custom", "instructions": plan.task}
    return {"type": "uncommittedChanges"}
