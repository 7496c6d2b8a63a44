"""Where unhang keeps its state, and whether that place can be trusted.

`$UNHANG_HOME`, else `$XDG_STATE_HOME/unhang`, else `~/.local/state/unhang`; mode 0700. Job output holds secrets and
the control sockets end processes: a directory that another user owns or may write to is refused; one that others may
only read is closed to them. Every file in it is 0600.
"""

from __future__ import annotations

import os
import stat as modes

from unhang.errors import StateError
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOBS = "jobs"
INDEX = "index.db"
WATCH = "watch"
_ELSEWHERE = "UNHANG_HOME names another place"


def locate(environ: Mapping[str, str]) -> str:
    """Return where the state directory is; it need not exist yet."""
    given = environ.get("UNHANG_HOME")
    if given:
        return os.path.abspath(given)
    state = environ.get("XDG_STATE_HOME")
    if state and os.path.isabs(state):
        return os.path.join(state, "unhang")
    return os.path.join(os.path.expanduser("~"), ".local", "state", "unhang")


def settings(environ: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return where a person may keep their own settings for us under one of these names; none, if they have no home."""
    config, home = environ.get("XDG_CONFIG_HOME"), environ.get("HOME")
    if not config or not os.path.isabs(config):
        if not home:
            return []
        config = os.path.join(home, ".config")
    return [os.path.join(config, "unhang", name) for name in names]


def first_trusted(paths: Sequence[str]) -> str | None:
    """Return the first of these files that is this user's and that no other user may write to.

    None if there is none.
    """
    for path in paths:
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            continue
        if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
            return path
    return None


def untrusted(paths: Sequence[str]) -> str | None:
    """Return the first of these files that is there and is passed over: another user owns it or may write to it.

    None if there is none before the first that is trusted.
    """
    trusted = first_trusted(paths)
    before = paths if trusted is None else paths[: paths.index(trusted)]
    return next((path for path in before if os.path.exists(path)), None)


def not_believed(path: str) -> str:
    """Return what is said of a file of settings that is passed over."""
    return f"{path}: not believed, since other users may write to it (chmod go-w) or own it"


def watch_folder(home: str) -> str:
    """Return what `unhang watch` keeps: its lock, and the note of how it was installed."""
    return os.path.join(home, WATCH)


def ensure(home: str) -> str:
    """Make the directories if need be, refuse them if they cannot be trusted, return the jobs folder."""
    jobs = os.path.join(home, JOBS)
    for folder in (home, jobs):
        make(folder)
    return jobs


def make(folder: str) -> None:
    """Make a directory of unhang's if need be. Raises StateError if it cannot be made or trusted."""
    try:
        trust(folder)
    except FileNotFoundError:
        try:
            _make_with_parents(folder)
        except OSError as error:
            raise StateError(f"cannot make the state directory {folder}: {error.strerror} ({_ELSEWHERE})") from None
        trust(folder)


def _make_with_parents(folder: str) -> None:
    """Every missing directory on the way is for this user alone, whatever the umask says."""
    parent = os.path.dirname(folder)
    if parent != folder and not os.path.isdir(parent):
        _make_with_parents(parent)
    make_one(folder)


def make_one(folder: str) -> None:
    """Make a directory for this user alone; one that is there already is left alone."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    os.chmod(folder, 0o700)  # a umask may have taken bits of our own away
    files.sync_path(os.path.dirname(folder))  # a job in it may be promised to survive a power cut


def trust(folder: str) -> None:
    """Raise StateError for a link, a foreign owner, or a directory that others may write to.

    One that others may only read was made by hand, most likely: its mode is repaired.
    """
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StateError(f"cannot use the state directory {folder}: {error.strerror} ({_ELSEWHERE})") from None
    if modes.S_ISLNK(found.st_mode):
        raise StateError(f"refused: the state directory {folder} is a symbolic link")
    if not modes.S_ISDIR(found.st_mode):
        raise StateError(f"refused: {folder} is not a directory")
    if found.st_uid != os.geteuid():
        raise StateError(f"refused: the state directory {folder} belongs to another user (uid {found.st_uid})")
    if found.st_mode & 0o022:
        raise StateError(f"refused: others may write to the state directory {folder}; run: chmod 700 {folder}")
    if found.st_mode & 0o055:
        _close_to_others(folder)


def _close_to_others(folder: str) -> None:
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(fd, 0o700)
        finally:
            os.close(fd)
    except OSError as error:
        raise StateError(
            f"refused: others may read the state directory {folder}, and that cannot be changed ({error.strerror})"
        ) from None
