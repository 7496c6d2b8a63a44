"""A Redis server of this machine's own, as a reference: streams, each command on disk before it is answered."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

_PATIENCE = 30.0


def is_there() -> bool:
    """Return whether this machine has the program."""
    return shutil.which("redis-server") is not None


class RedisServer:
    """One process, without replicas: it promises less than three NATS servers do."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        words = ["redis-server", "--port", "0", "--unixsocket", str(self._socket), "--dir", str(folder)]
        words += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()

    async def connect(self) -> RedisClient:
        """Return a connection, as soon as the server takes one."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                try:
                    return RedisClient(*await asyncio.open_unix_connection(str(self._socket)))
                except OSError:
                    await asyncio.sleep(0.05)


class RedisClient:
    """One command at a time, in Redis's own protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def do(self, *words: str) -> Any:
        """Return the answer to a command."""
        data = [f"*{len(words)}\r\n".encode()]
        for word in words:
            data += [f"${len(word.encode())}\r\n".encode(), word.encode(), b"\r\n"]
        self._writer.write(b"".join(data))
        return await self._answer()

    async def _answer(self) -> Any:
        line = await self._reader.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"*":
            return [await self._answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else (await self._reader.readexactly(int(rest) + 2))[:-2]
        return rest

    def close(self) -> None:
        self._writer.close()
