"""The side of a machine that owns jobs: carries out a command of another machine, and sends what it prints.

The command is one of unhang's own, run by unhang itself as if it had been typed here: what it prints and its exit code
are the same by construction. Only the commands and options of `ALLOWED` are taken, each about named jobs.

Every piece of output is a request that the asker answers: a slow asker slows the command down, and one that is gone
ends it. A command that changes something needs a number that this machine has given out a moment ago and takes once,
so that a message that was recorded and is sent again does nothing.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

from unhang.core.fleet.permissions import inbox_of
from unhang.core.fleet.requests import (
    ALIVE,
    ALIVE_EVERY,
    CODE,
    END,
    KIND,
    NONCE,
    PAGE,
    REFUSED,
    STDOUT,
    Request,
    read_request,
)
from unhang.errors import EXIT_FAILED, EXIT_USAGE, UnhangError, UsageError
from unhang.fleet.end_tasks import end
from unhang.fleet.page_answers import PageAnswers
from unhang.procs import executable

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Coroutine, Sequence
    from typing import Any

    from nats.aio.msg import Msg

    from unhang.fleet.connection import Connection

_PIECE = 256 << 10
# How the server's names for answers to another account begin.
_ACROSS = "_R_."
# Of those that change something, and of the others: who only looks keeps no command from being carried out.
MOST_AT_ONCE = 16
_MOST_NUMBERS, _NUMBER_HOLDS = 1000, 30.0


class CommandServer:
    """Answers requests about the jobs of one home."""

    def __init__(self, home: str, connection: Connection) -> None:
        self._home = home
        self._connection = connection
        self._numbers: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changing: set[asyncio.Task[None]] = set()
        self._looking: set[asyncio.Task[None]] = set()
        self._pages = PageAnswers(home)

    async def take(self, message: Msg) -> None:
        """Take a request; it is answered in the background."""
        self._begin(message, may_change=True)

    async def take_question(self, message: Msg) -> None:
        """Take a request of one who may change nothing."""
        self._begin(message, may_change=False)

    def _begin(self, message: Msg, *, may_change: bool) -> None:
        # A server lets an asker of our own account name any subject for the answer: elsewhere we would write where the
        # asker may not. One of another account is answered by a name that the server has made.
        if not message.reply.startswith((inbox_of(""), _ACROSS)):
            return
        among = self._changing if may_change else self._looking
        if len(among) >= MOST_AT_ONCE:
            why = UnhangError("too many commands at a time; try again")
            self._spawn(self._refuse(message.reply, why), self._tasks)
        else:
            self._spawn(self._answer(message, may_change=may_change), among)

    def _spawn(self, work: Coroutine[Any, Any, None], among: set[asyncio.Task[None]]) -> None:
        task = asyncio.ensure_future(work)
        among.add(task)
        task.add_done_callback(among.discard)

    async def close(self) -> None:
        """End what is being answered."""
        await end((*self._changing, *self._looking, *self._tasks))

    async def _answer(self, message: Msg, *, may_change: bool) -> None:
        try:
            request = read_request(message.data)
            if not may_change and (request.changes or request.do == NONCE):
                raise UsageError("refused: this would change something, and was not asked for where that may be")
            if request.do == NONCE:
                await message.respond(self._number().encode())
                return
            if request.changes and not self._is_ours(request.nonce):
                raise UsageError("refused: this command was sent before, or too long ago")
        except UnhangError as error:
            await self._refuse(message.reply, error)
            return
        try:
            if request.do == PAGE:
                await self._show(request, message.reply)
            else:
                await self._carry_out(request, message.reply)
        except UnhangError:
            pass  # the asker is gone, or the server is
        except OSError as error:  # as where no process can be made just now: the asker is not left waiting
            await self._refuse(message.reply, UnhangError(f"it could not be carried out: {error}"))
        except ValueError as error:  # a word that cannot be given to a program
            await self._send(message.reply, REFUSED, repr(error).encode()[:300], EXIT_USAGE)
        except Exception as error:  # as where unhang was replaced while we ran: the asker is not left waiting
            await self._send(message.reply, REFUSED, f"it could not be carried out: {error!r}".encode()[:300])
            raise

    async def _refuse(self, reply: str, why: UnhangError) -> None:
        try:
            await self._send(reply, REFUSED, str(why).encode(), why.exit_code)
        except UnhangError:
            pass  # the asker is gone, or the server is

    def _number(self) -> str:
        now = time.monotonic()
        self._numbers = {number: end for number, end in self._numbers.items() if end > now}
        if len(self._numbers) >= _MOST_NUMBERS:
            self._numbers.pop(next(iter(self._numbers)))
        number = os.urandom(16).hex()
        self._numbers[number] = now + _NUMBER_HOLDS
        return number

    def _is_ours(self, number: str) -> bool:
        return self._numbers.pop(number, 0.0) > time.monotonic()

    async def _show(self, request: Request, reply: str) -> None:
        """Answer by ourselves what a page asks for: a process for each row of output would be too slow."""
        try:
            data = await asyncio.to_thread(self._pages.answer, request)
        except UnhangError as error:
            await self._refuse(reply, error)
            return
        for at in range(0, len(data), _PIECE):
            await self._send(reply, STDOUT, data[at : at + _PIECE])
        await self._send(reply, END, b"", 0)

    async def _carry_out(self, request: Request, reply: str) -> None:
        environ = {name: value for name, value in os.environ.items() if name != "UNHANG_NATS"}
        process = await asyncio.create_subprocess_exec(
            *executable.command_line(request.do, *request.words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ | {"UNHANG_HOME": self._home, "NO_COLOR": "1"},
            start_new_session=True,
        )
        try:
            await self._feed(process, request.data)
            lock = asyncio.Lock()
            passing = [
                asyncio.ensure_future(self._pass_on(reply, name, stream, lock))
                for name, stream in (("stdout", process.stdout), ("stderr", process.stderr))
            ]
            alive = asyncio.ensure_future(self._say_alive(reply, lock))
            try:
                await self._both(passing, alive)
            finally:
                await end((*passing, alive))
            await self._send(reply, END, b"", await process.wait())
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    async def _both(self, passing: Sequence[asyncio.Future[None]], alive: asyncio.Future[None]) -> None:
        """Until all is passed on; an asker that is gone ends it before."""
        rest: set[asyncio.Future[None]] = set(passing)
        while rest:
            done, _ = await asyncio.wait({*rest, alive}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            rest -= done

    async def _feed(self, process: Process, data: bytes) -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(data)
            await process.stdin.drain()
            process.stdin.close()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it did not read it: its exit code says why

    async def _pass_on(self, reply: str, name: str, stream: asyncio.StreamReader | None, lock: asyncio.Lock) -> None:
        assert stream is not None
        while piece := await stream.read(_PIECE):
            async with lock:
                await self._send(reply, name, piece)

    async def _say_alive(self, reply: str, lock: asyncio.Lock) -> None:
        while True:
            await asyncio.sleep(ALIVE_EVERY)
            async with lock:
                await self._send(reply, ALIVE, b"")

    async def _send(self, reply: str, kind: str, data: bytes, code: int = EXIT_FAILED) -> None:
        await self._connection.request(reply, data, {KIND: kind, CODE: str(code)})
