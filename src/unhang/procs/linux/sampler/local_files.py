"""Which files can be read without a wait for another machine, or for a process that serves a file system.

Where such a one is silent, a process that touches a file of it hangs, and cannot be ended. A job may hang for just
that, and the look at it must not. So the mounts are asked first, which the kernel has in memory.
"""

from __future__ import annotations

import errno
import os

from unhang.procs.linux.procfs import read_all, working_directory

_LOCAL = frozenset({
    b"ext2", b"ext3", b"ext4", b"xfs", b"btrfs", b"f2fs", b"zfs", b"bcachefs", b"jfs", b"nilfs2", b"overlay", b"aufs",
    b"tmpfs", b"ramfs", b"rootfs", b"devtmpfs", b"squashfs", b"erofs", b"iso9660", b"udf", b"vfat", b"exfat", b"ntfs3",
})  # fmt: skip
# As the kernel has it.
_MOST_LINKS = 40


class Mounts:
    """The mounts that a process sees, by a file /proc/PID/mountinfo."""

    def __init__(self, table: bytes) -> None:
        self._kinds: dict[bytes, bytes] = {}
        self._devices: dict[bytes, tuple[int, int]] = {}
        for line in table.splitlines():
            words, _, behind = line.partition(b" - ")
            fields = words.split()
            if len(fields) < 5 or not behind.strip():
                continue
            self._kinds[_plain(fields[4]).rstrip(b"/")] = behind.split(None, 1)[0]  # the later hides the other
            major, _, minor = fields[2].partition(b":")
            if major.isdigit() and minor.isdigit():
                self._devices[fields[0]] = int(major), int(minor)

    def kind_at(self, path: str) -> bytes:
        """Return the kind of the file system at an absolute path without links; empty: it is not known."""
        at = os.fsencode(path).rstrip(b"/")
        while at not in self._kinds and at:
            at = at.rpartition(b"/")[0]
        return self._kinds.get(at, b"")

    def is_local(self, path: str) -> bool:
        """Return whether an absolute path without links is on a file system of this machine."""
        return self.kind_at(path) in _LOCAL

    def device(self, mount: bytes) -> tuple[int, int] | None:
        """Return the numbers of the device behind a mount, as `mnt_id` in a file of fdinfo names it."""
        return self._devices.get(mount)


class MountTables:
    """The mounts of many processes; most of them see the same."""

    def __init__(self) -> None:
        self._seen_by: dict[int, Mounts] = {}
        self._known: dict[str, Mounts] = {}  # by what those who see it have in common

    def of(self, pid: int) -> Mounts:
        """Return the mounts that a process sees."""
        if pid not in self._seen_by:
            try:
                name = os.readlink(f"/proc/{pid}/ns/mnt") + os.readlink(f"/proc/{pid}/root")
            except OSError:
                name = str(pid)
            if name not in self._known:
                self._known[name] = _mounts_of(pid)
            self._seen_by[pid] = self._known[name]
        return self._seen_by[pid]


def _mounts_of(pid: int) -> Mounts:
    return Mounts(read_all(f"/proc/{pid}/mountinfo"))


def is_local(pid: int, path: str) -> bool:
    """Return whether an absolute path without links, as a process sees it, is on a file system of this machine."""
    return _mounts_of(pid).is_local(path)


def find_local(pid: int, word: str) -> str | None:
    """Return where we can read the file that a process calls so; None: it is not there, or not of this machine."""
    try:
        parts = [*reversed((word if word.startswith("/") else f"{working_directory(pid)}/{word}").split("/"))]
    except OSError:
        return None
    mounts, at, links = _mounts_of(pid), "", 0
    while parts:
        part = parts.pop()
        if part == "..":
            at = at.rpartition("/")[0]
        if part in ("", ".", ".."):
            continue
        if not mounts.is_local(f"{at}/{part}"):
            return None
        try:
            link = os.readlink(f"/proc/{pid}/root{at}/{part}")
        except OSError as error:
            if error.errno != errno.EINVAL:
                return None
            at = f"{at}/{part}"  # it is none
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        at = "" if link.startswith("/") else at
        parts += reversed(link.split("/"))
    return f"/proc/{pid}/root{at}"


def _plain(text: bytes) -> bytes:
    """A path without the escapes that the kernel writes for blanks and backslashes."""
    if b"\\" not in text:
        return text
    for written, meant in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        text = text.replace(written, meant)
    return text
