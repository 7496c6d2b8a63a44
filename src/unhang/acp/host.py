"""All terminals of one client, by session: JSON of the wire in and out, without the official SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from unhang.acp import protocol as at
from unhang.acp import recovery
from unhang.acp.protocol import Refused, TerminalRequest
from unhang.acp.results import Completed, TimedOut
from unhang.acp.terminal import AcpTerminal
from unhang.agents.base.jsonrpc_message import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from unhang.agents.base.update import preview
from unhang.core.limit_request import read_limits
from unhang.core.spec import NULL, JobSpec, quote
from unhang.errors import SpawnError, UnhangError, UsageError
from unhang.jobs.connection import JobConnection
from unhang.jobs.home import state_home
from unhang.jobs.request import Prepared, prepare
from unhang.jobs.start import launch
from unhang.procs.spawn import SHELL, find_program

if TYPE_CHECKING:
    from unhang.core.limit_request import Duration

_T = TypeVar("_T")
METHODS = ("terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")
_LIMITS = ("idle", "hard", "stall", "warn", "grace", "category", "liveness")
_LONGEST_LABEL = 200
# Files are read and jobs are started in these; nothing that waits for a command ever sits in one.
_THREADS = 4
_MOST_TERMINALS = 1000  # of one client, in all its sessions


class Host:
    """`idle`, `hard`, … hold for every terminal, `limit_session` for one session, `_meta.unhang` for one call.

    What is asked for is held to the policy's bounds; the answers say what was applied, and from where.
    """

    def __init__(
        self,
        *,
        policy: str | None = None,
        shell: str = SHELL,
        output_limit: int = at.DEFAULT_OUTPUT,
        max_running: int = 64,
        labels: Mapping[str, str] | None = None,
        **limits: Duration,
    ) -> None:
        _check(limits)
        self._policy = policy
        self._shell = shell
        self._output_limit = output_limit
        self._max_running = max_running
        self._labels = dict(labels or {})
        self._limits: dict[str, Any] = dict(limits)
        self._sessions: dict[str, dict[str, Any]] = {}
        self._terminals: dict[str, AcpTerminal] = {}
        self._starting: dict[asyncio.Task[AcpTerminal], str] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False

    def _in_thread(self, work: Callable[[], _T]) -> asyncio.Future[_T]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, "unhang-acp")
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    # --- the five methods -----------------------------------------------------------------------------------

    async def handle(self, method: str, params: Any) -> dict[str, Any]:
        """Return the result of a request as it came over the wire; raise Refused."""
        if method == "terminal/create":
            return await self.create(at.request_of(params, self._output_limit))
        if method not in METHODS:
            raise Refused(METHOD_NOT_FOUND, f"no such method: {preview(method, 80)}")
        session, terminal_id = at.name_of(params, "sessionId"), at.name_of(params, "terminalId")
        if method == "terminal/output":
            return await self.output(session, terminal_id)
        if method == "terminal/wait_for_exit":
            return await self.wait(session, terminal_id, at.timeout_of(params))
        if method == "terminal/kill":
            await self.kill(session, terminal_id, at.signal_of(params))
        else:
            await self.release(session, terminal_id)
        return {}

    async def create(self, request: TerminalRequest) -> dict[str, Any]:
        """Start the command of a `terminal/create` request; return the answer, or raise Refused."""
        terminal = await self._create(request)
        about = terminal.about() | {"limits": terminal.limits}
        return {"terminalId": terminal.id, "_meta": {at.META: about}}

    async def output(self, session: str, terminal_id: str) -> dict[str, Any]:
        """Return the end of what a terminal has printed and, once it has ended, its exit status."""
        terminal = self._found(session, terminal_id)
        exit, about = terminal.machine.exit, terminal.about()  # as of before the reading: an end comes with all of it
        shown = await terminal.output(note=terminal.note())
        answer: dict[str, Any] = {"output": shown.text, "truncated": shown.truncated, "_meta": {at.META: about}}
        return answer if exit is None else answer | {"exitStatus": exit.to_json()}

    async def wait(self, session: str, terminal_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait until the command of a terminal has ended; return its exit status.

        After `timeout` seconds the answer is an exit status without code and signal, and the command goes on: the
        `state` in `_meta` is `running`.
        """
        terminal = self._found(session, terminal_id)
        try:
            async with asyncio.timeout(timeout):
                exit = await terminal.wait()
        except TimeoutError:
            return at.NO_EXIT | {"_meta": {at.META: terminal.about()}}
        return exit.to_json() | {"_meta": {at.META: terminal.about()}}

    async def kill(self, session: str, terminal_id: str, signal: str = at.SIGNALS[0]) -> None:
        """End the command and wait until nothing of it is left; the terminal stays readable until it is released.

        `signal` is what it begins with; SIGKILL does not wait for the grace, nor for that of an earlier kill.
        """
        await self._found(session, terminal_id).end("terminal/kill", signal)

    async def release(self, session: str, terminal_id: str) -> None:
        """Forget the terminal at once, end its command, and wait until nothing of it is left."""
        terminal = self._found(session, terminal_id)
        self._let_go(terminal)
        await terminal.end("terminal/release")

    def state(self, session: str, terminal_id: str) -> str:
        """Return starting, running, finished, killed or timed_out; of an unknown terminal: released."""
        terminal = self._terminals.get(terminal_id)
        return terminal.machine.state if terminal is not None and terminal.session == session else at.RELEASED

    def _found(self, session: str, terminal_id: str) -> AcpTerminal:
        terminal = self._terminals.get(terminal_id)
        if terminal is None or terminal.session != session:
            name = preview(terminal_id, 80)
            raise Refused(INVALID_PARAMS, f"no terminal {name!r} in this session: never created, or released")
        return terminal

    def _let_go(self, terminal: AcpTerminal) -> None:
        del self._terminals[terminal.id]
        terminal.machine.released()

    # --- starting -------------------------------------------------------------------------------------------

    async def _create(self, request: TerminalRequest) -> AcpTerminal:
        if self._closed:
            raise Refused(INTERNAL_ERROR, "the client is shutting down")
        here_too = [t for t in self._terminals.values() if t.session == request.session]
        running = sum(t.machine.state == at.RUNNING for t in here_too)
        running += sum(session == request.session for session in self._starting.values())
        if running >= self._max_running:
            raise Refused(INTERNAL_ERROR, f"too many commands: {running} are running in this session")
        self._forget_the_oldest()
        if len(self._terminals) + len(self._starting) >= _MOST_TERMINALS:  # an agent may name any number of sessions
            raise Refused(INTERNAL_ERROR, f"too many commands: {_MOST_TERMINALS} are running for this client")
        starting = asyncio.ensure_future(self._start(request))
        self._starting[starting] = request.session
        starting.add_done_callback(self._starting.pop)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # the thread cannot be called back: take the terminal from it, so that it can be ended
            if not starting.cancelled():
                await asyncio.wait([starting])
                if starting.exception() is None:
                    terminal = starting.result()
                    if terminal.id in self._terminals:  # its session may have ended meanwhile
                        self._let_go(terminal)
                    await terminal.end("cancellation of its task")
            raise

    def _forget_the_oldest(self) -> None:
        """Terminals that have ended and that the agent never released."""
        if len(self._terminals) + len(self._starting) >= _MOST_TERMINALS:
            ended = next((t for t in self._terminals.values() if t.machine.exit is not None), None)
            if ended is not None:
                self._let_go(ended)

    async def _start(self, request: TerminalRequest) -> AcpTerminal:
        try:
            connection, spec = await self._in_thread(lambda: self._launch(request))
        except (UsageError, SpawnError) as error:
            raise Refused(INVALID_PARAMS, str(error)) from None
        except (UnhangError, OSError) as error:
            raise Refused(INTERNAL_ERROR, f"cannot be started: {error}") from None
        terminal = AcpTerminal(connection, spec, request.session, request.limit, self._in_thread)
        self._terminals[terminal.id] = terminal
        await asyncio.shield(terminal.up)
        if connection.failure:
            self._let_go(terminal)
            raise Refused(INTERNAL_ERROR, connection.failure)
        return terminal

    def _launch(self, request: TerminalRequest) -> tuple[JobConnection, JobSpec]:
        prepared = self.prepared(request)
        return launch(prepared), prepared.spec

    def prepared(self, request: TerminalRequest) -> Prepared:
        """Make the job of a command in a thread, since that reads the policy's file and asks after programs and
        folders.
        """
        environ = dict(os.environ) | request.env
        line = at.is_line(request.command, request.args, lambda name: _runs(name, environ, request.cwd))
        wishes = self._limits | self._sessions.get(request.session, {}) | request.wishes
        found = prepare(
            request.command if line else [request.command, *request.args],
            shell=line,
            cwd=request.cwd,
            env=request.env,
            stdin=NULL,
            labels=self._labels
            | {recovery.LABEL: recovery.TERMINAL, recovery.CLIENT: recovery.client_label()}
            | {recovery.SESSION: request.session[:_LONGEST_LABEL] or "-"},
            policy=self._policy,
            asked=read_limits(wishes),
            budget=at.budget_for(request.limit),
            foreground=True,
        )
        spec = found.spec
        argv = [self._shell, "-c", request.command] if line else spec.argv
        people = spec.shell if spec.shell is not None else " ".join(quote(word) for word in spec.argv)
        return found.replace(spec=spec.replace(argv=at.merged(argv, SHELL), shell=people))

    # --- a session's, and everything's end ------------------------------------------------------------------

    def limit_session(self, session: str, **limits: Duration) -> None:
        """Set limits for the terminals that are created in this session from now on."""
        _check(limits)
        self._sessions[session] = self._sessions.get(session, {}) | limits

    async def end_session(self, session: str) -> None:
        """End every terminal of a session. The end of a turn leaves them running."""
        self._sessions.pop(session, None)
        await self._end([t for t in self._starting if self._starting[t] == session], lambda t: t.session == session)

    async def close(self) -> None:
        """End every terminal; `unhang ps --all` shows how each one ended."""
        self._closed = True
        await self._end(list(self._starting), lambda _: True)
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None

    async def _end(self, starting: list[asyncio.Task[AcpTerminal]], meant: Callable[[AcpTerminal], bool]) -> None:
        if starting:
            await asyncio.wait(starting)
        ending = [terminal for terminal in self._terminals.values() if meant(terminal)]
        for terminal in ending:
            self._let_go(terminal)
        await asyncio.gather(*(terminal.end("the end of its session") for terminal in ending))

    async def recover(self) -> list[str]:
        """End the terminals that dead clients have left running, and return their ids; live clients are not touched."""
        return await self._in_thread(lambda: recovery.end_orphans(state_home()))

    # --- the timeout pattern --------------------------------------------------------------------------------

    async def execute_with_timeout(
        self,
        session_id: str,
        command: str,
        args: Sequence[str] = (),
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **limits: Duration,
    ) -> Completed | TimedOut:
        """Create, wait against a timer, kill, take the final output, release.

        The timer is the job's own hard limit, so that it holds even while our event loop does not run and so that
        it is known why the command was still there. Where the policy gives more time than `timeout`, we keep it.
        """
        _check(limits)
        limit = self._output_limit if output_byte_limit is None else min(output_byte_limit, at.MOST_OUTPUT)
        wishes = {"hard": timeout, "warn": 0.0} | limits
        terminal = await self._create(
            TerminalRequest(session_id, command, list(args), dict(env or {}), cwd, limit, wishes)
        )
        try:
            exit = await self._within(terminal, timeout)
            shown = await terminal.output()
        finally:
            if terminal.id in self._terminals:
                self._let_go(terminal)
            await terminal.end("terminal/release")
        applied = dict(terminal.limits)
        if exit.state != at.TIMED_OUT:
            return Completed(exit.code, exit.signal, shown.text, shown.truncated, exit.state, terminal.id, applied)
        return TimedOut(
            shown.text, shown.truncated, exit.code, exit.signal, exit.reason or "", exit.message, terminal.id,
            terminal.diagnosis, tuple(terminal.suggestions), applied,
        )  # fmt: skip

    async def _within(self, terminal: AcpTerminal, timeout: float) -> at.Exit:
        if terminal.hard is not None and terminal.hard <= timeout:
            return await terminal.wait()
        try:
            async with asyncio.timeout(timeout):
                return await terminal.wait()
        except TimeoutError:
            terminal.by_timer = True
            return await terminal.end("its timeout")


def _check(limits: Mapping[str, Any]) -> None:
    unknown = set(limits) - set(_LIMITS)
    if unknown:
        raise TypeError(f"unknown limit: {', '.join(sorted(unknown))}; there are: {', '.join(_LIMITS)}")
    read_limits(limits)


def _runs(name: str, environ: Mapping[str, str], cwd: str | None) -> bool:
    """Does this name a program, as it stands?"""
    try:
        name = os.path.join(cwd, name) if cwd and "/" in name else name
        find_program(name, environ.get("PATH", os.defpath))
    except (SpawnError, ValueError):
        return False
    return True
