"""Files of people's own that we add something to: read whole, backed up, replaced in one step, never left half."""

from __future__ import annotations

import os
import time

from unhang.errors import UsageError


def read(path: str) -> str | None:
    """None: there is none."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None


def write(path: str, before: str | None, after: str | None) -> str | None:
    """Atomically, with the mode it had; the name of the backup, if there was something to back up.

    `after` None: the file goes, without a backup, since all in it was ours. Whoever changed it in the meantime keeps
    what they wrote.
    """
    real = os.path.realpath(path)  # a link into somebody's dotfiles stays one
    if read(real) != before:
        raise UsageError(f"{path} was changed by somebody else just now: nothing was written; try again")
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
        # first a new file, then in its place: whatever happens, one of the two is whole
        _put(f"{real}.unhang-new", after, mode, os.O_TRUNC)
        os.replace(f"{real}.unhang-new", real)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or path}: {error.strerror}; nothing was changed") from None
    return backup


def backups(path: str) -> list[str]:
    """Newest first."""
    folder, name = os.path.split(path)
    try:
        found = [entry for entry in os.listdir(folder or ".") if entry.startswith(f"{name}.unhang-")]
    except OSError:
        return []
    listed = [os.path.join(folder, entry) for entry in found if entry.endswith(".bak")]
    return sorted(listed, key=lambda one: (os.stat(one).st_mtime_ns, one), reverse=True)


def _back_up(path: str, text: str, mode: int) -> str:
    base = f"{path}.unhang-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1000):
        name = f"{base}{f'-{number}' if number else ''}.bak"
        try:
            _put(name, text, mode, os.O_EXCL)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(17, "too many backups", base)


def _put(path: str, text: str, mode: int, how: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, mode)
    with open(fd, "w", encoding="utf-8", newline="") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask says
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
