"""An agent's program as a child of its driver: lines of JSON both ways, its end, and signals.

Not asyncio's own subprocess: that one has exited only when its pipes are closed, and a child of the agent's that lives
on holds them open.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from unhang.agents.base.jsonrpc import Message, Recorder
from unhang.agents.base.update import one_line, raw_of
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


class Line(NamedTuple):
    """A process that was started, and the two ends of what joins us."""

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def started(argv: Sequence[str], *, deaf: bool = False) -> Line:
    """Its stderr is ours, and so the job's: read, bounded and kept. Raises OSError if it cannot be started.

    `deaf`: it has no input at all, and what is written to it is lost.
    """
    loop = asyncio.get_running_loop()
    stdin = subprocess.DEVNULL if deaf else subprocess.PIPE
    process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE)
    into = process.stdin or open(os.devnull, "wb", buffering=0)  # noqa: SIM115 - the transport closes it
    reader = asyncio.StreamReader(limit=_CHUNK)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, into)
    transport.set_write_buffer_limits(high=_MOST_UNREAD)
    return Line(process, reader, asyncio.StreamWriter(transport, protocol, None, loop))


class _Endless(Exception):
    pass


class Child(ABC):
    def __init__(self, line: Line, recorder: Recorder, trouble: Callable[[str, str], None]) -> None:
        """`trouble` is told, in words and with the message itself, what could not be read."""
        self.process, self._reader, self._writer = line
        self._lines = Lines(_LONGEST_LINE)
        self._skipped = 0  # of the line that is being passed over
        self._recorder = recorder
        self._trouble = trouble
        self._exited = asyncio.Event()
        self._listening = asyncio.ensure_future(self._listen())
        self._watching = asyncio.ensure_future(self._watch())

    # --- what it says ---------------------------------------------------------------------------------------

    @abstractmethod
    def _take(self, message: Message) -> None:
        """An object that it sent."""

    @abstractmethod
    def _print(self, text: str) -> None:
        """A line that is none: some agents print to their stdout."""

    @abstractmethod
    def _leave(self, why: str) -> None:
        """Nothing more comes: whoever waits for an answer is told so. May be called twice."""

    async def _listen(self) -> None:
        """Until it closes its end."""
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
        """A part of a line that is too long: none of it is kept."""
        if part and not self._skipped:
            size = _LONGEST_LINE >> 20
            self._trouble(f"A message of more than {size} MiB was passed over.", part[:200].decode("utf-8", "replace"))
        self._skipped += len(part)
        if self._skipped > _ENDLESS:
            raise _Endless

    async def _until_read(self) -> None:
        """Waits while it does not read what it was told: its questions may be short, and the answers long."""
        if self._writer.transport.get_write_buffer_size() <= _MOST_UNREAD:
            return
        try:
            await self._writer.drain()
        except OSError:
            pass  # it is gone; the end of its output says so

    def _hear(self, line: bytes) -> None:
        """One that our own code stumbles over costs that message, and the conversation goes on."""
        message = parse_message(line)
        self._recorder.line("agent", line)
        if isinstance(message, dict):
            self._recorder.message("agent", message)
            try:
                self._take(message)
            except Exception as error:
                what = one_line(f"{type(error).__name__}: {error}")
                self._trouble(f"A message could not be understood ({what}).", raw_of(message))
        elif text := line[:500].decode("utf-8", "replace").strip():
            self._print(text)

    @property
    def failure(self) -> str:
        """Not of the agent's, but of ours in reading it; "": none."""
        if not self._listening.done() or self._listening.cancelled():
            return ""
        error = self._listening.exception()
        return "" if error is None else f"unhang failed to read the agent: {error!r}"

    # --- its input ------------------------------------------------------------------------------------------

    @property
    def input_closed(self) -> bool:
        return self._writer.is_closing()

    def close_input(self) -> None:
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
        return self._exited.is_set()

    async def exit(self) -> None:
        await self._exited.wait()

    async def wait_exit(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)  # does nothing once its status has been taken

    @property
    def how(self) -> str:
        """How it has ended, in words."""
        code = self.process.returncode
        if code is None:
            return "still running"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    async def done(self) -> None:
        """It has exited: what it still said is heard, and nothing of ours is left open."""
        await asyncio.wait({self._listening}, timeout=_AFTER_EXIT)
        self._listening.cancel()
        self._watching.cancel()
        await asyncio.gather(self._listening, self._watching, return_exceptions=True)
        self._writer.close()
