"""The mappings of a process: the one reader of /proc/PID/maps.

The words of a line are read only as far as they are asked for: the tables of all processes are many lines.
"""

from __future__ import annotations

from unhang.procs.linux.procfs import read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # addresses, permissions, offset, device, inode, and a path where there is one
    Mapping = list[bytes]

_MOST = 1 << 20
_WORDS = 5


def read_maps(pid: int) -> bytes:
    """Return the table of a process, at most a megabyte of it; empty where we may not read it."""
    return read_all(f"/proc/{pid}/maps", _MOST)


def mappings(maps: bytes) -> Iterator[Mapping]:
    """Yield the lines of a table as their words; one that was cut is left out."""
    for line in maps.split(b"\n"):  # which the kernel escapes in a path; a carriage return it does not
        words = line.split(None, _WORDS)
        if len(words) >= _WORDS:
            yield words


def span_of(mapping: Mapping) -> tuple[int, int]:
    """Return the first address of a mapping, and the one behind its last."""
    low, _, high = mapping[0].partition(b"-")
    return int(low, 16), int(high, 16)


def is_shared(mapping: Mapping) -> bool:
    """Return whether what is written there is seen by other processes that map it."""
    return mapping[1][3:4] == b"s"


def key_of(mapping: Mapping) -> str:
    """Return the device and the inode, which are the same for every process that maps the same memory."""
    return f"{mapping[3].decode()}:{mapping[4].decode()}"


def path_of(mapping: Mapping) -> str:
    """Return the path or the name (`[heap]`) of a mapping; empty: it has none."""
    return mapping[_WORDS].decode("utf-8", "replace") if len(mapping) > _WORDS else ""
