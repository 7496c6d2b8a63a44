"""One terminal: a foreground job and its end, for any number of callers at once.

The job belongs to this process by a line (a socket) to its keeper: if we die, by SIGKILL even, the keeper ends the
whole tree. One task listens on that line and every caller waits for its result, so there is no lock to hold and no
thread to block. Only reading files is left to threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from unhang.acp.protocol import FINISHED, SIGNALS, TIMED_OUT, Exit, ShownOutput, TerminalMachine, cut_output, exit_of
from unhang.core.spec import JobSpec
from unhang.errors import UnhangError
from unhang.jobs.connection import PATIENCE, JobConnection
from unhang.jobs.handle import Job
from unhang.jobs.results import result_of

_CHUNK = 1 << 20


class AcpTerminal:
    """One command of an agent: the job that runs it, its state, and its output."""

    def __init__(
        self, connection: JobConnection, spec: JobSpec, session: str, limit: int, in_thread: Callable[..., Any]
    ) -> None:
        self.machine = TerminalMachine()
        self.session = session
        self.limit = limit
        self.job = Job(connection.place)
        self.limits: dict[str, Any] = spec.sources  # what was applied, and from where
        self.hard = spec.limits.hard
        self.diagnosis: dict[str, Any] | None = None
        self.suggestions: list[str] = []
        self.by_timer = False  # a timer of ours has asked for its end
        self._connection = connection
        self._in_thread = in_thread
        loop = asyncio.get_running_loop()
        self.up: asyncio.Future[None] = loop.create_future()  # it runs, or will never
        self.over: asyncio.Future[Exit] = loop.create_future()
        self._listening = loop.create_task(self._listen())

    @property
    def id(self) -> str:
        """Return the id of its job, for `unhang diagnose ID` as well."""
        return self.job.id

    @property
    def running(self) -> bool:
        """Return whether the command has not ended yet."""
        return self.machine.exit is None

    async def _listen(self) -> None:
        """To the end of the job, however it comes."""
        try:
            # bounded until it has started: the keeper, or what forks it, may be stopped
            while not self._connection.ended and await self._connection.hear_async(self._connection.patience()):
                await self._insist()
                if self._connection.started and not self.up.done():
                    self.machine.started()
                    self.up.set_result(None)
            try:
                exit = await self._exit()
            except (UnhangError, OSError) as error:  # a record that cannot be read any more: over it is all the same
                exit = Exit(FINISHED, None, None, message=str(error))
            self.machine.ended(exit)
            self.over.set_result(exit)
            if not self.up.done():
                self.up.set_result(None)
        finally:  # also when our loop is closed: the keeper then ends the job
            self._connection.close()
            for waited_for in (self.up, self.over):
                if not waited_for.done():
                    waited_for.cancel()

    async def _exit(self) -> Exit:
        if self._connection.failure:
            return exit_of({"status": "error", "message": self._connection.failure})
        exit = exit_of(await self._in_thread(self._connection.outcome) or {}, timer=self.by_timer)
        if exit.state == TIMED_OUT:
            result = await self._in_thread(lambda: result_of(self.job.place))
            self.diagnosis, self.suggestions = result.diagnosis, result.suggestions
        return exit

    async def wait(self) -> Exit:
        """Wait for its end; any number of tasks may wait, and cancelling one does not disturb the others."""
        return await asyncio.shield(self.over)

    async def end(self, by: str, signal: str = SIGNALS[0]) -> Exit:
        """Ask for its end, once however often this is called, and wait until nothing of it is left.

        `signal` is the first that its processes get. SIGKILL is asked for also when the end is on its way.
        """
        force = signal == "SIGKILL"
        if self.machine.asked_to_end() or (force and self.running):
            self._connection.cancel(by, force=force, interrupt=signal == "SIGINT")
            await asyncio.wait({self.over}, timeout=PATIENCE)
            await self._insist()
        return await self.wait()

    async def _insist(self) -> None:
        """Do without a keeper that does not answer; nothing, if it has answered."""
        try:
            await self._connection.insist_async(self._in_thread)
        except UnhangError:
            return  # what became of it is in its record

    async def output(self, *, note: str = "") -> ShownOutput:
        """Return the end of what it printed, with `note` as a last line."""
        running = self.running
        found: ShownOutput = await self._in_thread(lambda: _end_of(self.job, self.limit, running, note))
        return found

    def note(self) -> str:
        """Return a line for the agent, who sees only output: that a limit ended the command, and why; what was left."""
        exit = self.machine.exit
        if exit is None:
            return ""
        said: list[str] = []
        if exit.state == TIMED_OUT:
            why = (self.diagnosis or {}).get("reason")
            said.append(f"{exit.message}{f'; {why}' if why else ''}")
        if exit.left:
            names = ", ".join(exit.left)
            said.append(f"the command has ended; what it left running was ended with it, and does not run now: {names}")
        if exit.survived:
            said.append(f"could not be ended, and still runs: {', '.join(exit.survived)}")
        return f"\n[unhang: {'; '.join(said)}]\n" if said else ""

    def about(self) -> dict[str, Any]:
        """Return what `_meta` tells of it beyond the protocol's own fields."""
        said: dict[str, Any] = {"jobId": self.id, "state": self.machine.state}
        exit = self.machine.exit
        if exit is not None and exit.state == TIMED_OUT:
            said |= {"timeoutReason": exit.reason, "message": exit.message, "diagnosis": self.diagnosis}
        if exit is not None and exit.left:
            said["leftovers"] = list(exit.left)
        return said


def _end_of(job: Job, limit: int, running: bool, note: str) -> ShownOutput:
    """Read from where the limit begins; what is gone in between moves the beginning."""
    total = job.printed()
    at = max(0, total - limit - 4)
    data = bytearray()
    while at + len(data) < total:
        part = job.output(offset=at + len(data), limit=_CHUNK)
        if not part.data:
            break
        if part.offset != at + len(data):  # a gap: the end is what is behind it
            at = part.offset
            data.clear()
        data += part.data
    return cut_output(bytes(data) + note.encode(), limit, cut=at > 0, running=running)
