"""A file, or the memory of a process, of which small parts are read that lie near each other: a block at once.

It is read and never mapped: a job may cut the file off while we look, and to touch what is mapped behind its end would
kill us.
"""

from __future__ import annotations

import os

_SIZE = 16_384
_MOST = 256


class Blocks:
    """The bytes behind an open descriptor. OSError or ValueError: they are not there."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._kept: dict[int, bytes] = {}

    def some(self, at: int, size: int) -> bytes:
        """Read so many bytes, or as many as there are."""
        return os.pread(self._fd, size, at)

    def upto(self, at: int, size: int) -> bytes:
        """Read so many bytes, or fewer where they end before; what was read once is not read again."""
        number, offset = divmod(at, _SIZE)
        if (block := self._kept.get(number)) is None:
            try:
                block = self.some(number * _SIZE, _SIZE)
            except OSError:  # what is mapped begins within the block
                block = b""
            if len(self._kept) >= _MOST:
                self._kept.clear()
            self._kept[number] = block
        found = block[offset : offset + size]
        return found if len(found) == size else self.some(at, size)  # it lies in two blocks, or beside one

    def read(self, at: int, size: int) -> bytes:
        """Read so many bytes."""
        found = self.upto(at, size)
        if len(found) < size:
            raise ValueError("it ends before")
        return found

    def word(self, at: int) -> int:
        """Read a number of 64 bits."""
        return int.from_bytes(self.read(at, 8), "little")
