"""Which policy holds here: found, read and checked, or the built-in one.

    1  --policy FILE                                  must exist
    2  $UNHANG_POLICY                                 must exist; "built-in" is the built-in one
    3  .unhang.toml or .unhang.json, from the working directory upward
    4  $XDG_CONFIG_HOME/unhang/policy.toml or .json   (~/.config)
    5  the built-in policy

$UNHANG_STALL is the stall time of every command, whichever policy holds.

The search upward ends at the home directory or at the root, and takes a file only if this user owns it and
not every user may write to it: a file that another user left in /tmp decides nothing. That is asked of the open
file which is then read, so that it cannot be exchanged in between. Such a file may come with a project that was
only downloaded, so it may not set variables that choose what code runs (see core/policy/file/allowed_env.py).
"""

from __future__ import annotations

import errno
import os
import stat as modes

from unhang.core.limit_request import read_duration
from unhang.core.policy import builtin
from unhang.errors import UsageError
from unhang.store import home as homes

TYPE_CHECKING = False  # the real constant lives in `typing`, whose import costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unhang.core.policy.model import Policy

BUILT_IN = "built-in"
_HERE = (".unhang.toml", ".unhang.json")
_USERS = ("policy.toml", "policy.json")
# A path longer than this is not a place where a person works.
_HIGHEST = 64


def find(explicit: str | None, cwd: str, environ: Mapping[str, str]) -> Policy:
    """Return the policy that holds, or raise UsageError (with line and column where there is one) rather than run under
    a doubtful one.
    """
    found, stall = _find(explicit, cwd, environ), stall_of(environ)
    return found if stall is None else found.replace(stall=stall)


def stall_of(environ: Mapping[str, str]) -> float | None:
    """Return the stall time that the environment sets (0: off), None if it sets none. Raises UsageError."""
    return read_duration("UNHANG_STALL", environ.get("UNHANG_STALL") or None)


def _find(explicit: str | None, cwd: str, environ: Mapping[str, str]) -> Policy:
    named = explicit or environ.get("UNHANG_POLICY")
    if named:
        return builtin.policy() if named == BUILT_IN else read(os.path.join(cwd, os.path.expanduser(named)))
    for path in _upward(cwd, environ):
        file = _open_ours(path, any_link=False)
        if file is not None:
            return _read(file, path, trusted=False)
    for path in homes.settings(environ, _USERS):
        file = _open_ours(path, any_link=True)
        if file is not None:
            return _read(file, path, trusted=True)
    return builtin.policy()


def untrusted(cwd: str, environ: Mapping[str, str]) -> list[str]:
    """Return the files that would hold here and decide nothing: another user owns them or may write to them."""
    found: list[str] = []
    if environ.get("UNHANG_POLICY"):
        return found
    upward = [(path, False) for path in _upward(cwd, environ)]
    for path, any_link in [*upward, *((path, True) for path in homes.settings(environ, _USERS))]:
        try:
            file = _open_ours(path, any_link=any_link)
        except UsageError:
            break
        if file is not None:
            os.close(file)
            break
        if os.path.isfile(path):
            found.append(path)
    return found


def read(path: str, trusted: bool = True) -> Policy:
    """Read and check one policy file. Raises UsageError, with the place in the file where there is one."""
    try:
        return _read(_open(path), path, trusted)
    except OSError as error:
        raise UsageError(f"cannot read policy {path}: {error.strerror}") from None


def is_of_a_project(path: str) -> bool:
    """Return whether a file has the name of one that is found from the working directory upward, and is not trusted
    then.
    """
    return os.path.basename(path) in _HERE


def _read(file: int, path: str, trusted: bool) -> Policy:
    """From the descriptor that was judged, which is closed. What stands at its path by now does not matter."""
    from unhang.core.policy.file.load import LARGEST, load

    with open(file, "rb") as opened:
        if not modes.S_ISREG(os.fstat(file).st_mode):
            raise UsageError(f"policy {path} is not a regular file")
        raw = opened.read(LARGEST + 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise UsageError(f"{path}:{line}:{column}: not UTF-8") from None
    return load(text, path, toml=path.endswith(".toml"), trusted=trusted)


def _upward(cwd: str, environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("HOME") or ""
    folder = cwd
    for _ in range(_HIGHEST):
        for name in _HERE:
            yield os.path.join(folder, name)
        parent = os.path.dirname(folder)
        if parent == folder or folder == home:
            break
        folder = parent


def _open(path: str, flags: int = 0) -> int:
    """Without waiting: a pipe without a writer would hold us for ever."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | flags)


def _open_ours(path: str, *, any_link: bool) -> int | None:
    """A regular file of this user that not every user may write to; None: what is there decides nothing.

    `any_link` False: a link must be this user's own, too. Another user may put one into a shared folder, to a file of
    this user that is no policy at all.
    """
    try:
        file = _open(path, 0 if any_link else os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP and not any_link:
            return _open_through_own_link(path)
        if error.errno == errno.EACCES and _is_ours(os.lstat(path)):
            raise UsageError(f"cannot read policy {path}: {error.strerror}") from None
        return None
    except ValueError:  # a NUL in the path
        return None
    if _is_ours(os.fstat(file)):
        return file
    os.close(file)
    return None


def _open_through_own_link(path: str) -> int | None:
    """The target is taken from the very link whose owner was asked for."""
    try:
        link = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(link).st_uid != os.geteuid():
            return None
        target = os.readlink("", dir_fd=link)
    except OSError:  # no link any more
        return None
    finally:
        os.close(link)
    return _open_ours(os.path.join(os.path.dirname(path), target), any_link=True)


def _is_ours(found: os.stat_result) -> bool:
    return modes.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & modes.S_IWOTH
