"""Removes a directory of ours with whatever a job has put into it, and nothing outside.

A job may make folders in its own directory, links to anywhere, chains of folders that are longer than a path may be.
So names are only ever used relative to an open directory, links are removed and never followed, and a folder that is
not empty is emptied into the top one: there is no recursion, and no more than two descriptors are open.
"""

from __future__ import annotations

import os
import stat as modes

from unhang.procs import descriptors

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> bool:
    """Remove a folder and what is in it; False: something of it is left (another file system is mounted in it, a file
    may not be removed).
    """
    try:
        top = os.open(path, _OPEN)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        _empty(top)
    finally:
        os.close(top)
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


def _empty(top: int) -> None:
    """Until nothing more goes away: each round takes one level of folders apart."""
    number = 0
    stuck: set[str] = set()
    while names := [name for name in os.listdir(top) if name not in stuck]:
        for name in names:
            if _unlinked(name, top):
                continue
            number = _taken_apart(name, top, number)
            try:
                os.rmdir(name, dir_fd=top)
            except OSError:
                stuck.add(name)


def _unlinked(name: str, folder: int) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:  # a folder, or something that may not be removed
        return False
    return True


def _taken_apart(name: str, top: int, number: int) -> int:
    """Remove what is in the folder; folders in it are moved up to the top under a number. Returns the next number."""
    inner = _opened(name, top)
    if inner is None:
        return number
    try:
        if descriptors.mount_of(inner) != descriptors.mount_of(top):
            return number  # what is mounted here is not ours
        for entry in os.listdir(inner):
            if _unlinked(entry, inner):
                continue
            try:
                while True:
                    number += 1
                    if not _is_there(f".{number}", top):
                        break
                os.rename(entry, f".{number}", src_dir_fd=inner, dst_dir_fd=top)
            except OSError:
                continue
    except OSError:
        pass
    finally:
        os.close(inner)
    return number


def _opened(name: str, folder: int) -> int | None:
    """The folder of that name; one that its owner may not enter is opened up first."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not modes.S_ISDIR(found.st_mode):
            return None
        if found.st_mode & 0o700 != 0o700 and found.st_uid == os.geteuid():
            handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                descriptors.change_mode(handle, 0o700)
            finally:
                os.close(handle)
        return os.open(name, _OPEN, dir_fd=folder)
    except OSError:
        return None


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
