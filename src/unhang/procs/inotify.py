"""inotify: which watch, what happened to it, and which entry of a folder."""

from __future__ import annotations

import ctypes
import os
import struct

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x4, 0x8, 0x80, 0x100, 0x200
IN_MOVED_FROM, IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT = 0x40, 0x400, 0x800, 0x2000
IN_Q_OVERFLOW, IN_IGNORED = 0x4000, 0x8000
IN_MASK_ADD = 0x20000000
_CLOEXEC, _NONBLOCK = 0o2000000, 0o4000
_HEAD = struct.Struct("iIII")
# Of 64 KiB. Files that change all the time must not keep us from judging.
_MOST_READS = 16


class Inotify:
    """`fd` is -1 where there is none: the caller then looks on a timer."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self.fd = int(self._libc.inotify_init1(_CLOEXEC | _NONBLOCK))
        except AttributeError:
            self.fd = -1

    def add(self, path: str, mask: int) -> int | None:
        """None: it is not there, or there are too many watches."""
        if self.fd < 0:
            return None
        wd = int(self._libc.inotify_add_watch(self.fd, os.fsencode(path), ctypes.c_uint32(mask)))
        return wd if wd >= 0 else None

    def remove(self, wd: int) -> None:
        self._libc.inotify_rm_watch(self.fd, wd)

    def read(self) -> list[tuple[int, int, str]]:
        """Watch, what happened, the name of the entry. Everything there is, but no more than the kernel keeps."""
        found: list[tuple[int, int, str]] = []
        for _ in range(_MOST_READS if self.fd >= 0 else 0):
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                wd, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                found.append((wd, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
                at += length
        return found

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
