"""File watches by inotify. The bits of `base` are its own."""

from __future__ import annotations

import ctypes
import os
import struct

# Further events of a path that is watched already are added to the first ones.
_MASK_ADD = 0x20000000
_CLOEXEC, _NONBLOCK = 0o2000000, 0o4000
_HEAD = struct.Struct("iIII")
# Of 64 KiB. Files that change all the time must not keep us from judging.
_MOST_READS = 16


class InotifyWatch:
    """Is told when files and folders change. `fd` is -1 where none can be had: the caller then looks on a timer."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self.fd = int(self._libc.inotify_init1(_CLOEXEC | _NONBLOCK))
        except AttributeError:
            self.fd = -1

    def add(self, path: str, events: int) -> int | None:
        """Watch a file or folder, also for further events. None: it is not there, or there are too many watches."""
        if self.fd < 0:
            return None
        watch = int(self._libc.inotify_add_watch(self.fd, os.fsencode(path), ctypes.c_uint32(events | _MASK_ADD)))
        return watch if watch >= 0 else None

    def remove(self, watch: int) -> None:
        """Stop watching."""
        self._libc.inotify_rm_watch(self.fd, watch)

    def read(self) -> list[tuple[int, int, str]]:
        """Return (watch, events, name of the entry). Everything there is, but no more than the kernel keeps."""
        found: list[tuple[int, int, str]] = []
        for _ in range(_MOST_READS if self.fd >= 0 else 0):
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                watch, events, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                found.append((watch, events, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
                at += length
        return found

    def close(self) -> None:
        """Give every watch back."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
