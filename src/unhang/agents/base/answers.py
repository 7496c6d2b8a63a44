"""The answers that a person sends to a driver with `unhang send`: one line each."""

from __future__ import annotations

import asyncio
import os

_LONGEST = 1 << 16  # of one answer


class AnswerReader:
    """Reads our stdin from now on."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._rest = b""
        asyncio.get_running_loop().add_reader(0, self._read)

    def _read(self) -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:_LONGEST]
        for line in lines:
            self._lines.put_nowait(line.decode("utf-8", "replace"))

    async def next_answer(self, seconds: float) -> str:
        """Return the next line. What came before the question is no answer to it. Raises TimeoutError."""
        while not self._lines.empty():
            self._lines.get_nowait()
        async with asyncio.timeout(seconds):
            return (await self._lines.get()).strip()

    def close(self) -> None:
        """Read no more."""
        asyncio.get_running_loop().remove_reader(0)
