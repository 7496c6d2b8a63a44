"""Which policy holds here: found, read and checked, or the built-in one.

    1  --policy FILE                                  must exist
    2  $UNHANG_POLICY                                 must exist; "built-in" is the built-in one
    3  .unhang.toml or .unhang.json, from the working directory upward
    4  $XDG_CONFIG_HOME/unhang/policy.toml or .json   (~/.config)
    5  the built-in policy

The search upward ends at the home directory or at the root, and takes a file only if this user owns it and
not everybody may write to it: a file that somebody left in /tmp decides nothing. Such a file may come with
a project that was only downloaded, so it may not set variables that choose what code runs (see
`fields.py`).
"""

from __future__ import annotations

import os
import stat as modes

from unhang.core.policy import builtin
from unhang.errors import UsageError
from unhang.store import home as homes

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Mapping

    from unhang.core.policy.model import Policy

BUILT_IN = "built-in"
_HERE = (".unhang.toml", ".unhang.json")
_USERS = ("policy.toml", "policy.json")
# A path longer than this is not a place where somebody works.
_HIGHEST = 64


def find(explicit: str | None, cwd: str, environ: Mapping[str, str]) -> Policy:
    """Raises UsageError (with line and column where there is one) rather than run under a doubtful policy."""
    named = explicit or environ.get("UNHANG_POLICY")
    if named:
        return builtin.policy() if named == BUILT_IN else read(os.path.join(cwd, os.path.expanduser(named)))
    path = _upward(cwd, environ)
    if path is not None:
        return read(path, trusted=False)
    path = _of_user(environ)
    if path is not None:
        return read(path)
    return builtin.policy()


def read(path: str, trusted: bool = True) -> Policy:
    from unhang.core.policy.load import LARGEST, load

    try:
        # without waiting: a pipe that nobody writes to would hold us for ever
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not modes.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"policy {path} is not a regular file")
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read policy {path}: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise UsageError(f"{path}:{line}:{column}: not UTF-8") from None
    return load(text, path, toml=path.endswith(".toml"), trusted=trusted)


def _upward(cwd: str, environ: Mapping[str, str]) -> str | None:
    home = environ.get("HOME") or ""
    folder = cwd
    for _ in range(_HIGHEST):
        for name in _HERE:
            path = os.path.join(folder, name)
            if _is_ours(path):
                return path
        parent = os.path.dirname(folder)
        if parent == folder or folder == home:
            break
        folder = parent
    return None


def _of_user(environ: Mapping[str, str]) -> str | None:
    for path in homes.settings(environ, _USERS):
        if _is_ours(path):
            return path
    return None


def _is_ours(path: str) -> bool:
    """A regular file of this user that not everybody may write to. Links are followed to what they mean."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return modes.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & modes.S_IWOTH
