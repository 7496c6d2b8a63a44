"""Where sessions show themselves: the status files of Claude Code (`sessions/<pid>.json`)."""

from __future__ import annotations

import json
import os

from unhang.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LARGEST = 1 << 16


class StatusFile(Record):
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
    found = [os.path.abspath(os.path.expanduser(folder)) for folder in more]
    if environ.get("CLAUDE_CONFIG_DIR"):
        found.append(os.path.abspath(environ["CLAUDE_CONFIG_DIR"]))
    found.append(os.path.join(os.path.expanduser("~"), ".claude"))
    return list(dict.fromkeys(found))


def sessions_dir(config: str) -> str:
    return os.path.join(config, "sessions")


def pids(config: str) -> list[int]:
    try:
        names = os.listdir(sessions_dir(config))
    except OSError:
        return []
    return [pid for name in names if (pid := pid_of(name))]


def pid_of(name: str) -> int:
    """0: no status file (beside them lie keys, which are nobody's business)."""
    stem = name.removesuffix(".json")
    return int(stem) if stem != name and stem.isdecimal() and len(stem) < 11 else 0


def read(config: str, pid: int) -> StatusFile | None:
    """None: not there, or just being written."""
    try:
        fd = os.open(f"{sessions_dir(config)}/{pid}.json", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        value = json.loads(os.read(fd, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(fd)
    return parse(value, pid) if isinstance(value, dict) else None


def parse(value: dict[str, Any], pid: int) -> StatusFile | None:
    def text(name: str) -> str:
        found = value.get(name)
        return found if isinstance(found, str) else ""

    def number(name: str) -> int:
        found = value.get(name)
        return (
            int(found) if isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < 1e15 else 0
        )

    start = text("procStart") or (str(number("procStart")) if number("procStart") > 0 else "")
    if number("pid") != pid or not start.isdecimal() or not text("sessionId"):
        return None
    return StatusFile(
        pid,
        start,
        text("sessionId"),
        text("cwd"),
        text("status"),
        number("statusUpdatedAt"),
        number("startedAt"),
        text("waitingFor"),
        text("kind"),
        text("entrypoint"),
        text("name"),
    )
