"""Where the exported variables of a program or library stand in the memory of a process that maps it.

Debuggers and extensions find the state of a runtime by these names, and so do we: by the hash table that the loader
uses, without a debugger, and without stopping anything. Files of 64 bits, little-endian, alone.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from unhang.procs.linux.sampler.blocks import Blocks
from unhang.procs.linux.sampler.local_files import is_local
from unhang.procs.linux.sampler.maps import mappings, path_of, span_of

_PT_LOAD, _PT_DYNAMIC = 1, 2
_STRINGS, _SYMBOLS, _STRINGS_SIZE, _HASH = 5, 6, 10, 0x6FFFFEF5
_HEADER, _SYMBOL = struct.Struct("<IIQQQQ"), struct.Struct("<IBBHQQ")
# A chain of the hash table is a few names long.
_MOST_CHAIN = 1024
# What the loader rounds addresses to.
_PAGE = os.sysconf("SC_PAGESIZE")
# The table for the loader has some thirty rows of 16 bytes.
_MOST_DYNAMIC = 1 << 16
# Names that are compared are shorter.
_MOST_TEXT = 256
# All names of a program.
_MOST_NAMES = 16 << 20
# What a file that is no ELF file, or a broken one, makes of the parsing.
UNREADABLE = (OSError, ValueError, struct.error, IndexError, ArithmeticError)


class Exports:
    """The exported names of a mapped ELF file, and its text. Close it after use."""

    def __init__(self, path: str, first: int) -> None:
        """`first` is the lowest address that the file is mapped to. One of UNREADABLE: it cannot be read."""
        # a job can put a pipe in its place by now
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self._data, self._names = Blocks(self._fd), b""
        try:
            head = self._data.read(0, 64)
            if head[:6] != b"\x7fELF\x02\x01":
                raise ValueError("not an ELF file of 64 bits")
            offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            headers = [_HEADER.unpack(self._data.read(offset + n * size, _HEADER.size)) for n in range(count)]
            self._loads: list[tuple[int, int, int]] = [
                (each[3], each[2], each[5]) for each in headers if each[0] == _PT_LOAD
            ]
            self._bias = first - (min(each[0] for each in self._loads) & -_PAGE)
            at, length = next((each[2], each[5]) for each in headers if each[0] == _PT_DYNAMIC)
            rows = self._data.read(at, min(length - length % 16, _MOST_DYNAMIC))
            self._dynamic = dict(struct.iter_unpack("<QQ", rows))
        except StopIteration:
            self.close()
            raise ValueError("nothing is exported") from None
        except UNREADABLE:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def address(self, name: bytes) -> int | None:
        """Return the address of a variable in the process; None: it is not exported."""
        strings, symbols = (self._offset(self._dynamic[each]) for each in (_STRINGS, _SYMBOLS))
        table = self._offset(self._dynamic.get(_HASH, -1))
        if strings is None or symbols is None or table is None:
            return None
        buckets, first, blooms, _ = struct.unpack("<4I", self._data.read(table, 16))
        wanted = 5381
        for byte in name:
            wanted = (wanted * 33 + byte) & 0xFFFFFFFF
        chains = table + 16 + blooms * 8 + buckets * 4
        number = self._number(chains - buckets * 4 + wanted % buckets * 4)
        for _ in range(_MOST_CHAIN if number >= first else 0):
            hashed = self._number(chains + (number - first) * 4)
            if hashed | 1 == wanted | 1:
                at, *_, value, _ = _SYMBOL.unpack(self._data.read(symbols + number * _SYMBOL.size, _SYMBOL.size))
                if self._data.upto(strings + at, len(name) + 1) == name + b"\0":
                    return int(value) + self._bias
            if hashed & 1:
                break
            number += 1
        return None

    def names(self, name: bytes) -> bool:
        """Return whether a name is among those that the file exports or imports."""
        at = self._offset(self._dynamic[_STRINGS])
        if at is None:
            return False
        if not self._names:
            self._names = self._data.some(at, min(self._dynamic[_STRINGS_SIZE], _MOST_NAMES))
        return b"\0" + name + b"\0" in self._names

    def text(self, address: int) -> bytes:
        """Return the text that stands at an address of the process, from the file; empty where it does not."""
        at = self._offset(address - self._bias)
        return b"" if at is None else self._data.upto(at, _MOST_TEXT).partition(b"\0")[0]

    def _number(self, at: int) -> int:
        return int.from_bytes(self._data.read(at, 4), "little")

    def _offset(self, virtual: int) -> int | None:
        """Where in the file the byte stands that is loaded to an address."""
        for low, at, size in self._loads:
            if low <= virtual < low + size:
                return at + virtual - low
        return None


def exporter_of(pid: int, maps: bytes, belongs: Callable[[str], bool], name: bytes) -> Exports | None:
    """Return the first file whose name `belongs` and which exports a variable, as a process maps it; None: none is."""
    tried = set()
    for each in mappings(maps):
        path = path_of(each)
        if not path or path in tried or not belongs(os.path.basename(path)):
            continue
        tried.add(path)
        if not is_local(pid, path):
            continue
        try:
            found = Exports(f"/proc/{pid}/root{path}", span_of(each)[0])
        except UNREADABLE:
            continue
        try:
            if found.address(name) is not None:
                return found
        except (*UNREADABLE, KeyError):
            pass
        found.close()
    return None
