"""Open descriptors, through /proc/PID/fd."""

from __future__ import annotations

import os


def reopen(fd: int, flags: int) -> int:
    """Open what is behind `fd` a second time. OSError: it is a socket, not ours to open, or there is no /proc."""
    return os.open(f"/proc/self/fd/{fd}", flags)


def open_of(pid: int, number: int, flags: int) -> int:
    """Open what another process has open as `number`. OSError: it has not, or we may not."""
    return os.open(f"/proc/{pid}/fd/{number}", flags)


def target(pid: int, number: int) -> str:
    """Return what a descriptor refers to (a path, `pipe:[123]`); empty: unknown."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return ""


def targets(pid: int, most: int = 1024) -> tuple[dict[int, str], int] | None:
    """Return what its first descriptors refer to, and how many it has; None where we may not look into the process."""
    where = f"/proc/{pid}/fd"
    found: dict[int, str] = {}
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                if len(found) >= most:
                    return found, max(_count(where), len(found))
                found[int(entry.name)] = target(pid, int(entry.name))
    except FileNotFoundError:
        return found, len(found)
    except OSError:
        return None
    return found, len(found)


def _count(where: str) -> int:
    # Since Linux 6.2 the size of the directory is the number of descriptors.
    try:
        return os.stat(where).st_size
    except OSError:
        return 0


def open_numbers() -> list[int]:
    """Return the numbers of our open descriptors, the one included that it takes to list them. OSError: no /proc."""
    return [int(name) for name in os.listdir("/proc/self/fd")]


def path_in(folder: int, path: str) -> str:
    """Return a short path of a file in an open folder, for addresses of sockets. Without /proc: the path itself."""
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}" if os.path.exists("/proc/self/fd") else path


def change_mode(handle: int, mode: int) -> None:
    """Change the mode of what an O_PATH descriptor refers to, and of nothing else that has its name by now."""
    os.chmod(f"/proc/self/fd/{handle}", mode)


def mount_of(fd: int) -> str | int:
    """Return which mount an open file is on: a folder of the same file system may be bound into another one."""
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            return next(line for line in file if line.startswith("mnt_id:"))
    except (OSError, StopIteration):
        return os.fstat(fd).st_dev
