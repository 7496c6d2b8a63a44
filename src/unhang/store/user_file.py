"""Files of people's own that we add something to: read whole, backed up, replaced in one step, never left half.

The folder may have come with a downloaded project, so nothing in it is believed: what is not a regular file is not
opened in a way that waits, and a new file is made under a name that no other process can have taken before.
"""

from __future__ import annotations

import errno
import os
import stat as modes
import time

from unhang.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# A settings file with a session's whole history in it has some ten megabytes.
_LARGEST = 64 << 20


def in_project(folder: str, name: str) -> str:
    """Return the path of a project's own file. Raises UsageError where it, or a folder on the way to it, is a link.

    What a link in a downloaded project points to was chosen by its author: a file of this user's home, or a git hook of
    the project's own.
    """
    path = folder
    for part in name.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise UsageError(f"refused: {path} is a link, and a project's settings are not written through one")
    return path


def read(path: str) -> str | None:
    """Return the text of a file; None if there is none. Raises UsageError for what is not a regular file of UTF-8."""
    try:
        # without waiting: a pipe without a writer would hold us for ever
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not modes.S_ISREG(found.st_mode):
                raise UsageError(f"cannot read {path}: not a regular file")
            if found.st_size > _LARGEST:
                raise UsageError(f"cannot read {path}: larger than {_LARGEST >> 20} MiB")
            return file.read(_LARGEST + 1).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def open_to_write(path: str, *, append: bool = False) -> TextIO:
    """Open a file that a person has named, to write text into it. Raises UsageError.

    Never through a link and never waiting: the folder may be a project's, whose author chose what stands there. What is
    below /dev is the system's own.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC)
    if not path.startswith("/dev/"):
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o666)
    except OSError as error:
        what = {errno.ELOOP: "it is a link", errno.ENXIO: "it is a pipe"}.get(error.errno or 0, error.strerror)
        raise UsageError(f"cannot write {path!r}: {what}") from None
    if flags & os.O_NOFOLLOW and not modes.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UsageError(f"cannot write {path!r}: not a regular file")
    return open(fd, "w", encoding="utf-8", errors="replace")


def write(path: str, before: str | None, after: str | None) -> str | None:
    """Replace a file atomically, with the mode it had; returns the name of the backup, if one was made.

    `after` None: the file goes, without a backup, since all in it was ours. A change that was made in the
    meantime is kept.
    """
    real = os.path.realpath(path)  # a link into a person's dotfiles stays one
    if read(real) != before:
        raise UsageError(f"{path} was changed by another program just now: nothing was written; try again")
    backup = None
    mode = 0o600
    try:
        if after is None:
            os.unlink(real)
            return None
        os.makedirs(os.path.dirname(real), exist_ok=True)
        if before is not None:
            mode = os.stat(real).st_mode & 0o777
            backup = _back_up(path, before, mode)
        _replace(real, after, mode)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or path}: {error.strerror}; nothing was changed") from None
    return backup


def backups(path: str) -> list[str]:
    """Return the backups of a file, newest first."""
    folder, name = os.path.split(path)
    found: list[tuple[int, str]] = []
    try:
        for entry in os.scandir(folder or "."):
            ours = entry.name.startswith(f"{name}.unhang-") and entry.name.endswith(".bak")
            if ours and entry.is_file(follow_symlinks=False):
                found.append((entry.stat(follow_symlinks=False).st_mtime_ns, os.path.join(folder, entry.name)))
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


def _back_up(path: str, text: str, mode: int) -> str:
    base = f"{path}.unhang-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1000):
        name = f"{base}{f'-{number}' if number else ''}.bak"
        try:
            _make(name, text, mode)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(17, "too many backups", base)


def _replace(real: str, text: str, mode: int) -> None:
    """First a new file, then in its place: whatever happens, one of the two is whole."""
    new = f"{real}.unhang-{os.urandom(8).hex()}"
    _make(new, text, mode)
    try:
        os.replace(new, real)
    except BaseException:
        os.unlink(new)
        raise


def _make(path: str, text: str, mode: int) -> None:
    """A file that was not there, not even as a link to another."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(fd, mode)  # whatever the umask says
            os.fsync(fd)
    except BaseException:
        os.unlink(path)
        raise
