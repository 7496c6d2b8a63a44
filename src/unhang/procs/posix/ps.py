"""What `ps` says about processes. It is slow: a program is started for each answer."""

from __future__ import annotations

import errno
import os
import subprocess

from unhang.procs.base import ProcessInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Column order of the call below. `lstart` is five words (Sun Nov 15 19:25:01 2026): it is the rest of the line but
# one, because the command name may hold blanks too and comes last.
_PS = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="]


def process_table() -> dict[int, ProcessInfo]:
    """Return every process by its pid. OSError: `ps` cannot be run."""
    table: dict[int, ProcessInfo] = {}
    plain = {"PATH": os.defpath, "LC_ALL": "C"}
    try:
        done = subprocess.run(_PS, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True, env=plain)
    except subprocess.SubprocessError as error:
        raise OSError(errno.EIO, f"ps failed: {error}") from None
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        words = line.split(None, 9)
        if len(words) < 9:
            continue
        pid, ppid, group = int(words[0]), int(words[1]), int(words[2])
        name = words[9].strip() if len(words) > 9 else "?"
        table[pid] = ProcessInfo(pid, " ".join(words[4:9]), ppid, words[3][0], name, group)
    return table


def find(pid: int) -> ProcessInfo | None:
    """Return the process that has this number; None: there is none, or `ps` cannot be run."""
    return next((process for process in every() if process.pid == pid), None)


def every() -> Iterator[ProcessInfo]:
    """Return every process that `ps` shows."""
    try:
        table = process_table()
    except OSError:
        return
    yield from table.values()


def sees_own_namespace() -> bool:
    """Return True: there is one set of process numbers."""
    return True


def age(start: str) -> float:
    """Return the seconds since a process with this start time began, by the wall clock."""
    import time

    from unhang.procs import clock

    return clock.wall() - time.mktime(time.strptime(start, "%a %b %d %H:%M:%S %Y"))


def argv(pid: int, most: int = 1 << 18) -> list[str]:  # noqa: ARG001 - the interface's
    """Return nothing: `ps` joins arguments by blanks, so that they cannot be told apart."""
    return []


def environment(pid: int, most: int = 1 << 22) -> dict[str, str]:  # noqa: ARG001 - the interface's
    """Return nothing: there is no portable way."""
    return {}


def executable(pid: int) -> str:
    """Raise OSError: there is no portable way."""
    raise OSError(errno.ENOTSUP, "no portable way to find a process's program", str(pid))


def working_directory(pid: int) -> str:
    """Raise OSError: there is no portable way."""
    raise OSError(errno.ENOTSUP, "no portable way to find a process's directory", str(pid))


def owner(pid: int) -> int | None:
    """Return our own user if we may signal the process, which is what callers want to know."""
    try:
        os.kill(pid, 0)
    except OSError:
        return None
    return os.geteuid()


def ignores(pid: int, number: int) -> bool:  # noqa: ARG001 - the interface's
    """Return False: `ps` does not say it everywhere."""
    return False


def lock_limit(pid: int) -> int | None:  # noqa: ARG001 - the interface's
    """Return None: another process's limits cannot be read."""
    return None


def boot_id() -> str:
    """Return nothing: boots have no portable name."""
    return ""


def pid_namespace() -> str:
    """Return nothing: there are no namespaces."""
    return ""


def time_namespace() -> str:
    """Return nothing: there are no namespaces."""
    return ""


def memory_kills() -> None:
    """Return nothing: not known here."""
    return
