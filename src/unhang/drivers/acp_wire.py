"""An ACP agent as a child, and the line to it.

Not on the SDK's connection: its import costs a second of every job, its schema refuses what is newer than itself, its
spawner leaves stderr unread and knows one process only. Messages are plain objects here; the tests hold what we send
against the SDK's schema.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from unhang.drivers.rpc import Gone, Message, Peer, Recorder, RpcError

# One line may hold an image, and a session that is loaded again its longest message.
_LONGEST_LINE = 64 << 20
# For what it said last: it is in the pipe already.
_AFTER_EXIT = 1.0
_BETWEEN_POLLS = 0.05


class RawRecorder(Recorder):
    """Every line as it was on the wire, both ways: such a recording can be played to either side again."""

    def __init__(self, path: str | None) -> None:
        super().__init__(None)
        self._lines: IO[str] | None = open(path, "w", encoding="utf-8") if path else None  # noqa: SIM115
        self._from = time.monotonic()

    def raw(self, who: str, line: bytes) -> None:
        if self._lines is not None:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            entry = {"t": round(time.monotonic() - self._from, 3), "from": who, "raw": text}
            self._lines.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._lines.flush()

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None


class AgentError(RpcError):
    """With what the agent knows beyond its message."""

    def __init__(self, method: str, error: Any) -> None:
        super().__init__(method, error)
        data = error.get("data") if isinstance(error, dict) else None
        more = data if isinstance(data, str) else (data or {}).get("details") if isinstance(data, dict) else None
        if isinstance(more, str) and more and more not in self.message:
            self.message = f"{self.message}: {more}"[:1000]
        self.args = (self.message,)

    def to_json(self) -> Message:
        return {"code": self.code, "message": self.message[:1000]}


class AcpPeer(Peer):
    """`noise` gets what is no message: some agents print to their stdout."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        heard: Callable[[Message], None],
        recorder: RawRecorder,
        noise: Callable[[str], None],
    ) -> None:
        super().__init__(reader, writer, heard, recorder)
        self._raw = recorder
        self._noise = noise
        self._why = "the agent closed the line"

    async def listen(self) -> None:
        """Until the other side closes."""
        try:
            while line := await self._reader.readline():
                self._raw.raw("agent", line)
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    message = None
                if isinstance(message, dict):
                    self._take(message)
                elif line.strip():
                    self._noise(line[:500].decode("utf-8", "replace"))
        except OSError:
            pass
        except ValueError:
            self._why = f"the agent sent a line of more than {_LONGEST_LINE >> 20} MiB"
        finally:
            self.leave()

    def leave(self) -> None:
        """Nothing more comes: whoever waits for an answer is told so."""
        self.gone.set()
        for method, future in self._pending.values():
            if not future.done():
                future.set_exception(Gone(f"{self._why} before it answered {method}"))
        self._pending.clear()

    def _take(self, message: Message) -> None:
        if "method" in message:
            self._heard(message)
            return
        number = message.get("id")
        if not isinstance(number, int):
            return
        method, future = self._pending.pop(number, ("", None))
        if future is None or future.done():
            return
        if message.get("error") is not None:
            future.set_exception(AgentError(method, message["error"]))
        else:
            future.set_result(message.get("result"))

    def reserve(self) -> int:
        """The number of a request that is about to be sent."""
        self._last += 1
        return self._last

    def ask(self, number: int, method: str, params: Message) -> asyncio.Future[Any]:
        """Whoever gets the future waits for it, or cancels it."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.gone.is_set():
            future.set_exception(Gone(f"{self._why} before it was asked for {method}"))
            return future
        self._pending[number] = (method, future)
        self.send({"id": number, "method": method, "params": params})
        return future

    async def request(self, method: str, params: Message, timeout: float | None = None) -> Message:
        """Raises RpcError, Gone, or TimeoutError."""
        async with asyncio.timeout(timeout):
            answer = await self.ask(self.reserve(), method, params)
        return answer if isinstance(answer, dict) else {}

    def send(self, message: Message) -> None:
        line = json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False, separators=(",", ":"))
        data = line.encode("utf-8", "replace") + b"\n"
        self._raw.raw("unhang", data)
        try:
            self._writer.write(data)
        except (OSError, RuntimeError):
            pass  # it is gone; whoever waits for an answer is told so


class Agent:
    """Not asyncio's own subprocess: that one has exited only when its pipes are closed, and a child of the agent's
    that lives on holds them open."""

    def __init__(self, process: subprocess.Popen[bytes], peer: AcpPeer) -> None:
        self.process = process
        self.peer = peer
        self._gone = asyncio.Event()
        self._listening = asyncio.ensure_future(peer.listen())
        self._watching = asyncio.ensure_future(self._watch())

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        heard: Callable[[Message], None],
        recorder: RawRecorder,
        noise: Callable[[str], None],
    ) -> Agent:
        """Its stderr is ours, and so the job's: read, bounded and kept. Raises OSError if it cannot be started."""
        loop = asyncio.get_running_loop()
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        reader = asyncio.StreamReader(limit=_LONGEST_LINE)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
        writer = asyncio.StreamWriter(transport, protocol, None, loop)
        return cls(process, AcpPeer(reader, writer, heard, recorder, noise))

    async def _watch(self) -> None:
        await self._exit()
        self._gone.set()
        await asyncio.wait({self._listening}, timeout=_AFTER_EXIT)
        self.peer.leave()

    async def _exit(self) -> None:
        fd = _pidfd(self.process.pid)
        if fd < 0:
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
    def failure(self) -> str:
        """Not of the agent's, but of ours in reading it; "": none."""
        if not self._listening.done() or self._listening.cancelled():
            return ""
        error = self._listening.exception()
        return "" if error is None else f"unhang failed to read the agent: {error!r}"

    async def wait_exit(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._gone.wait()
        except TimeoutError:
            return False
        return True

    @property
    def exited(self) -> bool:
        return self._gone.is_set()

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

    def terminate(self) -> None:
        self.process.terminate()

    async def done(self) -> None:
        """It has exited: nothing of ours is left open."""
        self._listening.cancel()
        self._watching.cancel()
        await asyncio.gather(self._listening, self._watching, return_exceptions=True)
        self.peer.close_input()


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return -1


def own_version() -> str:
    """The package itself cannot be asked, since it opens onto the faces."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
