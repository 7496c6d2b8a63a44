"""The status files of Claude Code (`sessions/<pid>.json`), from which sessions are found."""

from __future__ import annotations

import os
import stat as modes

from unhang.core.record import Record
from unhang.core.values import id_of, number_of, parse_message, text_of
from unhang.errors import StateError
from unhang.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SESSIONS = "sessions"
# The prompt is free while a command runs in the background: one of Bash's, or a plugin's monitor.
_SHELL = "shell"
_LARGEST = 1 << 16
_LONGEST_TEXT = 1000
_LONGEST_PATH = 4096  # of the kernel's


class StatusFile(Record):
    """The content of a status file: the process, its session, and what it does."""

    pid: int
    start: str
    session_id: str
    cwd: str
    status: str
    stamp: int  # milliseconds of the wall clock
    started: int
    waiting_for: str
    kind: str
    entrypoint: str
    name: str


def config_dirs(environ: Mapping[str, str], more: list[str]) -> list[str]:
    """Return the state directories of Claude Code, without repetition: `more`, then those of the environment."""
    found = [os.path.abspath(os.path.expanduser(folder)) for folder in more]
    if environ.get("CLAUDE_CONFIG_DIR"):
        found.append(os.path.abspath(environ["CLAUDE_CONFIG_DIR"]))
    found.append(os.path.join(os.path.expanduser("~"), ".claude"))
    return list(dict.fromkeys(found))


def sessions_dir(config: str) -> str:
    """Return the folder of the status files below a state directory."""
    return os.path.join(config, SESSIONS)


def pids(config: str) -> list[int]:
    """Return the pids that have a status file below a state directory; none if it cannot be read."""
    try:
        names = os.listdir(sessions_dir(config))
    except OSError:
        return []
    return [pid for name in names if (pid := pid_of(name))]


def pid_of(name: str) -> int:
    """Return the pid in the name of a status file; 0: it is another file."""
    stem = name.removesuffix(".json")
    return int(stem) if stem != name and stem.isascii() and stem.isdecimal() and len(stem) < 11 else 0


def read(config: str, pid: int) -> StatusFile | None:
    """Return the status of this process; None: there is no such file, or it is being written."""
    fd = open_own(f"{sessions_dir(config)}/{pid}.json")
    if fd is None:
        return None
    try:
        value = parse_message(os.read(fd, _LARGEST))
    except OSError:
        return None
    finally:
        os.close(fd)
    return parse(value, pid) if isinstance(value, dict) else None


def open_own(path: str) -> int | None:
    """Open a regular file of this user's. None: there is none, or it is a link, a pipe, a device or a folder.

    These names come from agents, so the type is checked first: opening a device may have an effect.
    """
    try:
        found = os.lstat(path)
        if not modes.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return None
        return files.open_plain(path, os.O_RDONLY | os.O_NOCTTY)
    except (OSError, StateError, ValueError):
        return None


def path_of(value: Any, name: str) -> str:
    """Return a field that is an absolute path which the kernel accepts; empty: it is none."""
    path = text_of(value, name, most=_LONGEST_PATH + 1)
    try:
        usable = os.path.isabs(path) and "\0" not in path and len(os.fsencode(path)) < _LONGEST_PATH
    except UnicodeEncodeError:
        return ""
    return path if usable else ""


def parse(value: dict[str, Any], pid: int) -> StatusFile | None:
    """Return the status that a file's content states; None if it is not the file of this process."""

    def text(name: str) -> str:
        return text_of(value, name, most=_LONGEST_TEXT)

    def number(name: str) -> int:
        return int(number_of(value, name) or 0)

    start = id_of(value, "procStart")
    if number("pid") != pid or not start.isascii() or not start.isdecimal() or not text("sessionId"):
        return None
    return StatusFile(
        pid,
        start,
        text("sessionId"),
        text("cwd"),
        "idle" if text("status") == _SHELL else text("status"),
        number("statusUpdatedAt"),
        number("startedAt"),
        text("waitingFor"),
        text("kind"),
        text("entrypoint"),
        text("name"),
    )
