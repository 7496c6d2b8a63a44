"""One `codex app-server` as a child: started, greeted, and ended step by step."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import Callable

from unhang.drivers.rpc import Message, Peer, Recorder

# A resumed thread is told in one line.
_LONGEST_LINE = 256 << 20


class Server:
    def __init__(self, process: asyncio.subprocess.Process, peer: Peer) -> None:
        self.process = process
        self.peer = peer
        self.version = ""
        self._listening = asyncio.ensure_future(peer.listen())

    @classmethod
    async def start(
        cls, program: str, config: list[str], heard: Callable[[Message], None], recorder: Recorder
    ) -> Server:
        """Its stderr is ours, and so the job's. Raises OSError if it cannot be started."""
        words = [word for entry in config for word in ("-c", entry)]
        process = await asyncio.create_subprocess_exec(
            program,
            "app-server",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=dict(os.environ),
            limit=_LONGEST_LINE,
        )
        assert process.stdout is not None
        assert process.stdin is not None
        return cls(process, Peer(process.stdout, process.stdin, heard, recorder))

    async def greet(self) -> None:
        client = {"name": "unhang", "title": "unhang", "version": _version()}
        hello = {"clientInfo": client, "capabilities": {"experimentalApi": True}}
        answer = await self.peer.request("initialize", hello)
        self.peer.send({"method": "initialized"})
        # "unhang/0.166.0 (Debian …) …": the program's own version stands after our name
        self.version = str(answer.get("userAgent", "")).partition("/")[2].partition(" ")[0]

    async def wait_exit(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self.process.wait()
        except TimeoutError:
            return False
        return True

    @property
    def exited(self) -> bool:
        return self.process.returncode is not None

    def terminate(self) -> None:
        try:
            self.process.terminate()
        except ProcessLookupError:
            pass

    async def done(self) -> None:
        """It has exited: nothing of ours is left open."""
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


def _version() -> str:
    """Ours; the package itself cannot be asked, since it opens onto the faces."""
    try:
        return importlib.metadata.version("unhang")
    except importlib.metadata.PackageNotFoundError:
        return "0"
