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


def is_local(pid: int, path: str) -> bool:
    """Return whether an absolute path without links, as a process sees it, is on a file system of this machine."""
    return kind_at(read_all(f"/proc/{pid}/mountinfo"), path) in _LOCAL


def find_local(pid: int, word: str) -> str | None:
    """Return where we can read the file that a process calls so; None: it is not there, or not of this machine."""
    try:
        parts = [*reversed((word if word.startswith("/") else f"{working_directory(pid)}/{word}").split("/"))]
    except OSError:
        return None
    mounts, at, links = read_all(f"/proc/{pid}/mountinfo"), "", 0
    while parts:
        part = parts.pop()
        if part == "..":
            at = at.rpartition("/")[0]
        if part in ("", ".", ".."):
            continue
        if kind_at(mounts, f"{at}/{part}") not in _LOCAL:
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


def kind_at(mounts: bytes, path: str) -> bytes:
    """Return the kind of the file system at an absolute path, by a file /proc/PID/mountinfo; empty: it is not known."""
    wanted, longest, kind = os.fsencode(path), -1, b""
    for line in mounts.splitlines():
        words, _, behind = line.partition(b" - ")
        fields = words.split()
        if len(fields) < 5 or not behind:
            continue
        point = _plain(fields[4]).rstrip(b"/")
        covers = wanted == point or wanted.startswith(point + b"/")
        if covers and len(point) >= longest:  # of two at one place the later hides the other
            longest, kind = len(point), behind.split(None, 1)[0]
    return kind


def _plain(text: bytes) -> bytes:
    """A path without the escapes that the kernel writes for blanks and backslashes."""
    if b"\\" not in text:
        return text
    for written, meant in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        text = text.replace(written, meant)
    return text
