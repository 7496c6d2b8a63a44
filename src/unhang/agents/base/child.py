"""An agent's program as a child of its driver: lines of JSON both ways, its end, and signals.

This is not asyncio's subprocess: there a process has exited only when its pipes are closed, and a child of the agent
that lives on holds them open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from unhang.agents.base import jsonrpc_message
from unhang.agents.base.jsonrpc import Message, Peer, Recorder
from unhang.agents.base.update import preview, raw_of
from unhang.core.lines import Lines
from unhang.core.values import parse_message
from unhang.procs.process_handle import open_process

# One line may hold an image, a tool's whole result, or a thread that is resumed. A longer one is passed over, and one
# that does not end even then is no conversation any more.
_LONGEST_LINE = 64 << 20
_ENDLESS = 256 << 20
_CHUNK = 1 << 18
# An agent that asks and does not read the answers is not listened to until it does.
_MOST_UNREAD = 16 << 20
# For what it said last: it is in the pipe already.
_AFTER_EXIT = 1.0
_BETWEEN_POLLS = 0.05
# A program that has nothing to do ends in milliseconds at the end of its input; some first save what they know.
DISMISSAL = 5.0
# Of two Codex that begin at once in a new home, one dies of its own database: it is started again, after a pause.
STARTS, START_PAUSE = 3, 1.0


class Pipes(NamedTuple):
    """A process that was started, the end of its output and the end of its input."""

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def _open_pipes(argv: Sequence[str], *, deaf: bool) -> Pipes:
    """Start a process. Its stderr is ours, and so the job's: read, bounded and kept."""
    loop = asyncio.get_running_loop()
    stdin = subprocess.DEVNULL if deaf else subprocess.PIPE
    process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE)
    into = process.stdin or open(os.devnull, "wb", buffering=0)  # noqa: SIM115 - the transport closes it
    reader = asyncio.StreamReader(limit=_CHUNK)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, into)
    transport.set_write_buffer_limits(high=_MOST_UNREAD)
    return Pipes(process, reader, asyncio.StreamWriter(transport, protocol, None, loop))


class _Endless(Exception):
    pass


class Child:
    """An agent's program that has been started, and the messages that it sends.

    `heard` gets every object that it sends, `noise` every line that is none (some agents print to their stdout),
    `trouble` in words, and with the message itself, what could not be read.
    """

    def __init__(
        self,
        pipes: Pipes,
        recorder: Recorder,
        heard: Callable[[Message], None],
        trouble: Callable[[str, str], None],
        noise: Callable[[str], None] | None = None,
    ) -> None:
        self.process, self._reader, self._writer = pipes
        self.gone = asyncio.Event()  # nothing more comes from it
        self._heard = heard
        self._trouble = trouble
        self._noise = noise
        self._recorder = recorder
        self._lines = Lines(_LONGEST_LINE)
        self._skipped = 0  # of the line that is being passed over
        self._exited = asyncio.Event()
        self._listening = asyncio.ensure_future(self._listen())
        self._watching = asyncio.ensure_future(self._watch())

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        recorder: Recorder,
        heard: Callable[[Message], None],
        trouble: Callable[[str, str], None],
        noise: Callable[[str], None] | None = None,
        *,
        deaf: bool = False,
    ) -> Self:
        """Start a program. `deaf`: it has no input, and what is written to it is lost. Raises OSError."""
        return cls(await _open_pipes(argv, deaf=deaf), recorder, heard, trouble, noise)

    # --- what it says ---------------------------------------------------------------------------------------

    def _take(self, message: Message) -> None:
        """An object that it sent."""
        self._heard(message)

    def _leave(self, why: str) -> None:
        """Nothing more comes. May be called twice."""
        del why
        self.gone.set()

    async def _listen(self) -> None:
        """Take its messages until it closes its end."""
        why = "the agent closed the line"
        try:
            while chunk := await self._chunk():
                rest, lines = self._lines.feed(chunk)
                self._skip(rest)
                for line in lines:
                    if line.endswith(b"\n"):
                        self._hear(line)
                        await self._until_read()
                    else:  # the beginning of one that is too long to be held
                        self._skipped = 0
                        self._skip(line)
                if not self._lines.streaming:
                    self._skipped = 0
            if last := self._lines.flush():
                self._hear(last)
        except _Endless:
            why = f"the agent sent a line of more than {_ENDLESS >> 20} MiB"
        finally:
            self._leave(why)

    async def _chunk(self) -> bytes:
        try:
            return await self._reader.read(_CHUNK)
        except OSError:
            return b""

    def _skip(self, part: bytes) -> None:
        """Pass over a part of a line that is too long."""
        if part and not self._skipped:
            size = _LONGEST_LINE >> 20
            self._trouble(f"A message of more than {size} MiB was passed over.", part[:200].decode("utf-8", "replace"))
        self._skipped += len(part)
        if self._skipped > _ENDLESS:
            raise _Endless

    async def _until_read(self) -> None:
        """Wait while it does not read what it was told: its questions may be short, and the answers long."""
        if self._writer.transport.get_write_buffer_size() <= _MOST_UNREAD:
            return
        try:
            await self._writer.drain()
        except OSError:
            pass  # it is gone; the end of its output says so

    def _hear(self, line: bytes) -> None:
        """Take one line. A message at which our own code fails costs that message, and the conversation goes on."""
        message = parse_message(line)
        self._recorder.line("agent", line)
        if isinstance(message, dict):
            self._recorder.message("agent", message)
            try:
                self._take(message)
            except Exception as error:
                what = preview(f"{type(error).__name__}: {error}")
                self._trouble(f"A message could not be understood ({what}).", raw_of(message))
        elif self._noise is not None and (text := line[:500].decode("utf-8", "replace").strip()):
            self._noise(text)

    @property
    def failure(self) -> str:
        """Return how our own code failed in reading it; "": it did not."""
        if not self._listening.done() or self._listening.cancelled():
            return ""
        error = self._listening.exception()
        return "" if error is None else f"unhang failed to read the agent: {error!r}"

    # --- its input ------------------------------------------------------------------------------------------

    @property
    def input_closed(self) -> bool:
        """Return whether its input is at its end."""
        return self._writer.is_closing()

    def close_input(self) -> None:
        """End its input."""
        self._writer.close()

    # --- its end --------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        await self._end_of_process()
        self._exited.set()
        await asyncio.wait({self._listening}, timeout=_AFTER_EXIT)
        self._leave("the agent ended")

    async def _end_of_process(self) -> None:
        try:
            fd = open_process(self.process.pid)
        except OSError:
            while self.process.poll() is None:  # nothing else tells
                await asyncio.sleep(_BETWEEN_POLLS)
            return
        loop, exited = asyncio.get_running_loop(), asyncio.Event()
        try:
            loop.add_reader(fd, exited.set)
            await exited.wait()
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        self.process.wait()

    @property
    def exited(self) -> bool:
        """Return whether its process has ended."""
        return self._exited.is_set()

    async def exit(self) -> None:
        """Wait for the end of its process."""
        await self._exited.wait()

    async def wait_exit(self, seconds: float) -> bool:
        """Wait for the end of its process; False: it did not come in this time."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process."""
        self.process.send_signal(number)  # does nothing once its status has been taken

    @property
    def how(self) -> str:
        """Return how it ended, in words."""
        code = self.process.returncode
        if code is None:
            return "still running"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    async def either(self, event: asyncio.Event, seconds: float | None = None) -> bool:
        """Wait for an event, or until nothing more can come from the program; whether the event has come."""
        came = asyncio.ensure_future(event.wait())
        gone = asyncio.ensure_future(self.gone.wait())
        try:
            await asyncio.wait({came, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            came.cancel()
            gone.cancel()
        return event.is_set()

    async def dismiss(self) -> bool:
        """End its input after its last turn, and send SIGTERM if that does not end it. False: it was needed."""
        if not self.exited:
            self.close_input()
        obeyed = await self.wait_exit(DISMISSAL)
        if not obeyed:
            self.signal(signal.SIGTERM)
            await self.wait_exit(DISMISSAL)
        if self.exited:
            await self.done()
        return obeyed

    async def done(self) -> None:
        """Take what it still said before its exit, and close everything of ours."""
        await asyncio.wait({self._listening}, timeout=_AFTER_EXIT)
        self._listening.cancel()
        self._watching.cancel()
        await asyncio.gather(self._listening, self._watching, return_exceptions=True)
        self._writer.close()


class RpcChild(Child):
    """A program that speaks JSON-RPC. `heard` gets its notifications and its requests."""

    opening: ClassVar[Message] = jsonrpc_message.VERSION  # what every message of ours begins with

    def __init__(self, pipes: Pipes, recorder: Recorder, heard: Callable[[Message], None], *rest: Any) -> None:
        self.peer = Peer(pipes.writer, recorder, heard, self.opening)
        super().__init__(pipes, recorder, heard, *rest)

    def _take(self, message: Message) -> None:
        self.peer.take(message)

    def _leave(self, why: str) -> None:
        super()._leave(why)
        self.peer.leave(why)
