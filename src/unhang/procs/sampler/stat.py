"""Small reads of /proc, and the one line that says most: /proc/PID/stat.

`comm` may hold anything, also `) R 1`, so the line is cut at its *last* closing bracket. Raw descriptors
instead of file objects: a look at 200 processes is a thousand reads, and `open()` costs three times as much.
"""

from __future__ import annotations

import os

_MOST = 1 << 16


def read(path: str, most: int = _MOST) -> bytes:
    """What the file holds (one read: /proc answers whole), or nothing where it is gone or forbidden."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, most)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_all(path: str, most: int = 1 << 22) -> bytes:
    """The same for the tables that are longer than one page (/proc/locks, /proc/PID/net/tcp)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts: list[bytes] = []
    size = 0
    try:
        while size < most and (part := os.read(fd, _MOST)):
            parts.append(part)
            size += len(part)
    except OSError:
        pass
    finally:
        os.close(fd)
    return b"".join(parts)


def split(line: bytes) -> tuple[str, list[bytes]] | None:
    """(comm, fields from `state` on) of a stat line; None when the process is gone.

    Fields by their index here: 0 state, 1 ppid, 2 pgid, 3 sid, 4 tty, 5 tpgid, 7 minflt, 9 majflt, 11 utime,
    12 stime, 13 cutime, 14 cstime, 17 threads, 19 start, 21 rss (proc(5) counts from 1 and two more).
    """
    close = line.rfind(b")")
    begin = line.find(b"(")
    if begin < 0 or close < begin:
        return None
    fields = line[close + 2 :].split()
    if len(fields) < 22:
        return None
    return line[begin + 1 : close].decode("utf-8", "replace"), fields
